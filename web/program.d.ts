/** Types of the program in this folder. */

/** What holds the elements of each dtype: bool as 0 and 1, f16 and bf16 as their bits. */
export interface Arrays {
  f32: Float32Array;
  f16: Uint16Array;
  bf16: Uint16Array;
  i64: BigInt64Array;
  i32: Int32Array;
  i16: Int16Array;
  i8: Int8Array;
  u64: BigUint64Array;
  u32: Uint32Array;
  u16: Uint16Array;
  u8: Uint8Array;
  bool: Uint8Array;
}

export type DType = keyof Arrays;

/** An element of a plain array that goes in, and of one that comes out. */
export type Scalar<D extends DType> = D extends "bool" ? boolean | 0 | 1 : D extends "i64" | "u64" ? number | bigint : number;
export type Element<D extends DType> = D extends "bool" ? boolean : D extends "i64" | "u64" ? bigint : number;

/** Nested as deep as a shape is long; a number where that is 0. */
export type Numbers<T> = T | readonly Numbers<T>[];
export type Nested<T> = T | Nested<T>[];

/** Drawn as large as the input is: floats are from 0 to 1, whole numbers from 0 to 255. */
export type Picture =
  | HTMLCanvasElement | OffscreenCanvas | ImageBitmap | ImageData | VideoFrame | HTMLVideoElement | HTMLImageElement;

/** What goes in: elements alone where only the batch is open or arrays are nested, else with their shape. */
export type Given<D extends DType> =
  | Arrays[D]
  | Numbers<Scalar<D>>
  | { data: Arrays[D] | Numbers<Scalar<D>> | GPUBuffer; shape: readonly number[] }
  | Picture
  | readonly Picture[];

/** Results come in typed arrays, in plain arrays, or in buffers of the GPU, which the caller destroys. */
export type Output = "typed" | "array" | "gpu";

/** Elements and their shape. In a GPUBuffer a bool is a u32. */
export interface Value<D extends DType = DType, O extends Output = "typed"> {
  data: O extends "gpu" ? GPUBuffer : O extends "array" ? Nested<Element<D>> : Arrays[D];
  shape: number[];
  dtype: D;
}

//: inputs

//: outputs

export type ErrorName =
  | "LoadError" | "InputError" | "IndexError" | "Disposed" | "NoAdapter" | "DeviceLost" | "OutOfMemory"
  | "CompileError" | "CommandError";

/** What goes wrong; `name` says the kind. */
export class ExecutorError extends Error {
  name: ErrorName;
  constructor(name: ErrorName, message: string);
}

/** The GPU, which several programs may share. */
export interface Executor {
  readonly name: string;
  readonly software: boolean;
  readonly features: readonly string[];
  /** Why the GPU is gone, or null. */
  readonly lost: string | null;
  readonly device: GPUDevice;
  /** Return when all that was submitted is done. */
  wait(): Promise<void>;
}

export interface Program {
  readonly executor: Executor;
  readonly adapter: string;
  readonly batch: readonly [least: number, most: number];
  /** The batch sizes that it takes. */
  readonly batches: readonly number[];
  readonly inputs: readonly { name: string & keyof Inputs; dtype: DType; shape: readonly (number | "N")[] }[];
  readonly outputs: readonly { name: string; dtype: DType }[];
  /** only: the names of the results that are wanted; others are not read. */
  run<O extends Output = "typed">(inputs: Inputs, options?: { output?: O; only?: readonly string[] }): Promise<Outputs<O>>;
  /** Compile and allocate for a batch size ahead of its first run. */
  prepare(batch?: number): Promise<void>;
  /** Set the state, which stays on the GPU from run to run, to its first values. */
  reset(): void;
  /** The state's present values by name. */
  state(): Promise<Record<string, Value>>;
  /** Begin the program's random numbers anew, as flambeau.manual_seed does. */
  seed(seed: number | bigint): void;
  dispose(): void;
}

export type FileName = "program.txt" | "kernels.wgsl" | "weights.safetensors";

/** A file's bytes, or where it is. */
export type Source = ArrayBuffer | ArrayBufferView | Blob | URL | string;

export interface Options {
  /** Another program's, whose GPU this one shares. */
  executor?: Executor;
  /** The page's own GPU. */
  device?: GPUDevice;
  /** Ends the downloads; load rejects with its reason. */
  signal?: AbortSignal;
  /** Bytes that came, of all as far as hosts tell. */
  ondownload?: (bytes: number, all: number) => void;
  /** Kernels that are compiled. */
  onprogress?: (ready: number, all: number) => void;
  /** Files that are taken in place of the program's. */
  files?: { readonly [name in FileName]?: Source };
}

/** Load a folder by its URL, by its files (by name, or as Files), or the one that this module lies in. */
export function load(
  source?: string | URL | { readonly [name in FileName]: Source } | Iterable<File>,
  options?: Options,
): Promise<Program>;

/** Open the GPU for several programs. */
export function open(options?: { powerPreference?: "low-power" | "high-performance" }): Promise<Executor>;

declare global {
  // Some of TypeScript's libraries and @webgpu/types have these whole; elsewhere this part stands for them.
  interface GPUBuffer { readonly size: number; readonly usage: number }
  interface GPUDevice { readonly queue: GPUQueue; label: string }
  interface GPUQueue { label: string }
  interface HTMLCanvasElement { width: number; height: number }
  interface HTMLVideoElement { readonly videoWidth: number; readonly videoHeight: number }
  interface HTMLImageElement { readonly naturalWidth: number; readonly naturalHeight: number }
}
