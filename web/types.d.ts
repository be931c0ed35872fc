/** What TypeScript does not know, for `// @ts-check` alone: WebGPU, connections, Trusted Types, sizes of entries, Node.js. */
interface Navigator {
  readonly gpu: any;
  readonly connection?: { saveData?: boolean; effectiveType?: string };
}
interface PerformanceEntry {
  readonly encodedBodySize: number;
  readonly decodedBodySize: number;
}
declare var trustedTypes: any;
declare var process: any;
declare module "node:fs";
declare module "node:url";
declare module "node:zlib";
