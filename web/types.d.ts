/** What TypeScript does not know of pages, for `// @ts-check` alone: WebGPU, connections, Trusted Types, sizes of entries. */
interface Navigator {
  readonly gpu: any;
  readonly connection?: { saveData?: boolean; effectiveType?: string };
}
interface PerformanceEntry {
  readonly encodedBodySize: number;
  readonly decodedBodySize: number;
}
declare var trustedTypes: any;
