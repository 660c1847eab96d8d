import { inferenceErrors } from '../errors.ts'
import type { QueueTail } from './run-queue.ts'
import { SystemMemory } from './system-memory.ts'

/**
 * Version of ONNX Runtime's C interface, which is called through koffi.
 *
 * `OrtGetApiBase()->GetApi(version)` returns a table of function pointers. Newer releases only append to it, so slot
 * numbers are stable. A slot number is the index of a member of `OrtApi` in onnxruntime_c_api.h.
 */
const API_VERSION = 29

type Argument = 'pointer' | 'string' | 'int' | 'size'
type Result = 'status' | 'string' | 'int' | 'void' | 'pointer'

const functions = {
  GetErrorCode: [1, 'int', ['pointer']],
  GetErrorMessage: [2, 'string', ['pointer']],
  CreateEnv: [3, 'status', ['int', 'string', 'pointer']],
  CreateSessionFromArray: [8, 'status', ['pointer', 'pointer', 'size', 'pointer', 'pointer']],
  CreateSessionOptions: [10, 'status', ['pointer']],
  SetSessionLogSeverityLevel: [22, 'status', ['pointer', 'int']],
  SetSessionGraphOptimizationLevel: [23, 'status', ['pointer', 'int']],
  SetIntraOpNumThreads: [24, 'status', ['pointer', 'int']],
  SessionGetInputCount: [30, 'status', ['pointer', 'pointer']],
  SessionGetInputName: [36, 'status', ['pointer', 'size', 'pointer', 'pointer']],
  CreateRunOptions: [39, 'status', ['pointer']],
  RunOptionsSetTerminate: [46, 'status', ['pointer']],
  RunOptionsUnsetTerminate: [47, 'status', ['pointer']],
  CreateTensorAsOrtValue: [48, 'status', ['pointer', 'pointer', 'size', 'int', 'pointer']],
  CreateTensorWithDataAsOrtValue: [49, 'status', ['pointer', 'pointer', 'size', 'pointer', 'size', 'int', 'pointer']],
  GetTensorMutableData: [51, 'status', ['pointer', 'pointer']],
  CreateCpuMemoryInfo: [69, 'status', ['int', 'int', 'pointer']],
  AllocatorFree: [76, 'status', ['pointer', 'pointer']],
  GetAllocatorWithDefaultOptions: [78, 'status', ['pointer']],
  ReleaseStatus: [93, 'void', ['pointer']],
  ReleaseSession: [95, 'void', ['pointer']],
  ReleaseValue: [96, 'void', ['pointer']],
  ReleaseRunOptions: [97, 'void', ['pointer']],
  ReleaseSessionOptions: [100, 'void', ['pointer']],
  AddSessionConfigEntry: [130, 'status', ['pointer', 'string', 'string']],
  CreateAllocator: [131, 'status', ['pointer', 'pointer', 'pointer']],
  ReleaseAllocator: [132, 'void', ['pointer']],
  RunWithBinding: [133, 'status', ['pointer', 'pointer', 'pointer']],
  CreateIoBinding: [134, 'status', ['pointer', 'pointer']],
  ReleaseIoBinding: [135, 'void', ['pointer']],
  BindInput: [136, 'status', ['pointer', 'string', 'pointer']],
  BindOutput: [137, 'status', ['pointer', 'string', 'pointer']],
  AddInitializer: [150, 'status', ['pointer', 'string', 'pointer']],
  AddRunConfigEntry: [165, 'status', ['pointer', 'string', 'string']],
  CreatePrepackedWeightsContainer: [166, 'status', ['pointer']],
  ReleasePrepackedWeightsContainer: [167, 'void', ['pointer']],
  CreateSessionFromArrayWithPrepackedWeightsContainer: [
    169,
    'status',
    ['pointer', 'pointer', 'size', 'pointer', 'pointer', 'pointer']
  ],
  SessionOptionsAppendExecutionProvider_CUDA_V2: [204, 'status', ['pointer', 'pointer']],
  CreateCUDAProviderOptions: [205, 'status', ['pointer']],
  UpdateCUDAProviderOptions: [206, 'status', ['pointer', 'pointer', 'pointer', 'size']],
  ReleaseCUDAProviderOptions: [208, 'void', ['pointer']],
  SessionOptionsAppendExecutionProvider: [216, 'status', ['pointer', 'string', 'pointer', 'pointer', 'size']],
  MemoryInfoGetDeviceType: [225, 'void', ['pointer', 'pointer']],
  AddExternalInitializersFromFilesInMemory: [279, 'status', ['pointer', 'pointer', 'pointer', 'pointer', 'size']],
  SessionOptionsSetLoadCancellationFlag: [293, 'status', ['pointer', 'int']],
  RegisterExecutionProviderLibrary: [301, 'status', ['pointer', 'string', 'string']],
  GetEpDevices: [303, 'status', ['pointer', 'pointer', 'pointer']],
  SessionOptionsAppendExecutionProvider_V2: [
    304,
    'status',
    ['pointer', 'pointer', 'pointer', 'size', 'pointer', 'pointer', 'size']
  ],
  EpDevice_EpName: [312, 'string', ['pointer']],
  SessionGetMemoryInfoForInputs: [380, 'status', ['pointer', 'pointer', 'size']],
  CopyTensors: [386, 'status', ['pointer', 'pointer', 'pointer', 'pointer', 'size']],
  SessionReleaseCapturedGraph: [421, 'status', ['pointer', 'int']]
} as const satisfies Record<string, readonly [slot: number, result: Result, argumentTypes: readonly Argument[]]>

type FunctionName = keyof typeof functions
type NameOf<R extends Result> = { [K in FunctionName]: (typeof functions)[K][1] extends R ? K : never }[FunctionName]

/** Address in native memory; 0n is null. */
export type Pointer = bigint
/** Argument for a pointer parameter: an address, or an array whose memory is passed. */
export type PointerArgument = Pointer | NodeJS.TypedArray
type Value = PointerArgument | number | string

/**
 * Key of the loaded libraries by path, which are stored on koffi's module object and so live as long as the process. If
 * a library were garbage-collected, it would be unmapped, which crashes the threads of ONNX Runtime. A reloaded plugin
 * finds its library and functions there.
 */
const LIBRARIES = Symbol.for('svc.inference-onnx.libraries')
/** Key of libraries that others depend on, stored there for the same reason. */
const PRELOADED = Symbol.for('svc.inference-onnx.preloaded')

interface Library {
  readonly handle: unknown
  readonly version: string
  /** Address of the function table. */
  readonly table: Pointer
  /** Functions by slot and signature: another version of this code may declare a slot with another signature. */
  readonly functions: Map<string, Native>
  /** Provider names of registered plug-in libraries, by path. */
  readonly providers: Map<string, readonly string[]>
  /** Queue for devices that allow one run at a time. */
  line?: QueueTail
}

/** Part of koffi's API that is used. */
export interface Koffi {
  load(
    path: string | null,
    options?: { readonly global: boolean }
  ): {
    func(name: string, result: string, argumentTypes: string[]): (...values: unknown[]) => unknown
    /** Returns a reference to the symbol, which may be passed as a pointer. */
    symbol(name: string, type: string): unknown
  }
  decode(pointer: Pointer, offset: number, type: unknown): unknown
  proto(result: string, argumentTypes: string[]): unknown
  address(array: NodeJS.TypedArray): Pointer
  config(): { readonly async_stack_size: number }
  config(change: { readonly async_stack_size: number }): unknown
  [LIBRARIES]?: Map<string, Library>
  [PRELOADED]?: Map<string, unknown>
}

interface Native {
  (...values: Value[]): unknown
  async(...values: [...Value[], (error: Error | null, result: unknown) => void]): void
}

const cTypes: Readonly<Record<Argument | Result, string>> = {
  pointer: 'void *',
  status: 'void *',
  string: 'str',
  int: 'int',
  size: 'size_t',
  void: 'void'
}

/** Stack size of calls on pool threads: graph optimisation recurses deeply, and koffi's default is only 128 KiB. */
const STACK_BYTES = 2 ** 21

/** Functions of one loaded library. They throw `INF_RUNTIME_FAILED` with the library's message. */
export class OrtApi {
  readonly version: string
  readonly #koffi: Koffi
  readonly #library: Library
  /** Arguments of running calls, referenced here because native code holds only their addresses. */
  readonly #inFlight = new Set<readonly Value[]>()

  /** Loads the library. Throws the loader's error if it is missing or built for another platform. */
  constructor(koffi: Koffi, libraryPath: string) {
    koffi[LIBRARIES] ??= new Map()
    const library = koffi[LIBRARIES].get(libraryPath) ?? loadLibrary(koffi, libraryPath)
    koffi[LIBRARIES].set(libraryPath, library)
    this.#koffi = koffi
    this.#library = library
    this.version = library.version
  }

  /** Encodes strings for parameters of type `char **`. */
  strings(values: readonly string[]): CStrings {
    const texts = values.map(value => Buffer.from(`${value}\0`))
    const pointers = new BigUint64Array(new ArrayBuffer(8 * Math.max(1, texts.length)))
    for (const [index, text] of texts.entries()) pointers[index] = this.address(text)
    return { pointers, texts }
  }

  /** Returns the address of an array's memory, for structures with pointers. The caller must keep the array alive. */
  address(array: NodeJS.TypedArray): Pointer {
    return this.#koffi.address(array)
  }

  /** Opens the C library's functions for memory; null if the system has none. */
  systemMemory(): SystemMemory | null {
    return SystemMemory.open(this.#koffi)
  }

  call(name: NameOf<'status'>, ...values: Value[]): void {
    this.#check(name, this.#function(name)(...values) as Pointer | null)
  }

  /** Calls a function whose last parameter is an output pointer for an address; returns that address. */
  create(name: NameOf<'status'>, ...values: Value[]): Pointer {
    const out = pointerCell()
    this.call(name, ...values, out)
    return out[0] as Pointer
  }

  /** Calls a function on a thread of libuv's pool. */
  callAsync(name: NameOf<'status'>, ...values: Value[]): Promise<void> {
    this.#inFlight.add(values)
    return new Promise((resolve, reject) => {
      this.#function(name).async(...values, (error, status) => {
        this.#inFlight.delete(values)
        try {
          if (error) throw error
          this.#check(name, status as Pointer | null)
          resolve()
        } catch (failure) {
          reject(failure)
        }
      })
    })
  }

  async createAsync(name: NameOf<'status'>, ...values: Value[]): Promise<Pointer> {
    const out = pointerCell()
    await this.callAsync(name, ...values, out)
    return out[0] as Pointer
  }

  release(name: NameOf<'void'>, pointer: Pointer): void {
    this.#function(name)(pointer)
  }

  /** Calls a function whose last parameter is an output pointer for an `int`; returns the number. */
  readInt(name: NameOf<'void'>, ...values: Value[]): number {
    const out = new Int32Array(new ArrayBuffer(4))
    this.#function(name)(...values, out)
    return out[0] as number
  }

  /** Calls a function that allocates a string, and returns it. Its last parameters are the allocator and the output. */
  createText(name: NameOf<'status'>, ...values: Value[]): string {
    const allocator = this.create('GetAllocatorWithDefaultOptions')
    const out = pointerCell()
    this.call(name, ...values, allocator, out)
    const text = this.#koffi.decode(this.address(out), 0, 'str') as string
    this.call('AllocatorFree', allocator, out[0] as Pointer)
    return text
  }

  text(name: NameOf<'string'>, pointer: Pointer): string {
    return this.#function(name)(pointer) as string
  }

  /** Reads `count` addresses at `pointer`. */
  addresses(pointer: Pointer, count: number): Pointer[] {
    return Array.from({ length: count }, (_, index) => this.#koffi.decode(pointer, index * 8, 'void *') as Pointer)
  }

  /** Plug-in libraries that any user has registered with this library, by path. */
  get providers(): Map<string, readonly string[]> {
    return this.#library.providers
  }

  /** Queue that all users of this library share, for devices that allow one run at a time. */
  get line(): QueueTail {
    this.#library.line ??= { last: Promise.resolve() }
    return this.#library.line
  }

  #function(name: FunctionName): Native {
    const { functions: known, table } = this.#library
    const [slot, result, types] = functions[name]
    const signature = `${result} ${slot}(${types})`
    const found = known.get(signature) ?? functionAt(this.#koffi, table, slot, cTypes[result], types)
    known.set(signature, found)
    return found
  }

  #check(name: FunctionName, status: Pointer | null): void {
    if (!status) return
    const message = this.#function('GetErrorMessage')(status) as string
    const code = this.#function('GetErrorCode')(status) as number
    this.release('ReleaseStatus', status)
    throw inferenceErrors.create('INF_RUNTIME_FAILED', `ONNX Runtime ${this.version}: ${name}: ${message}`, {
      data: { function: name, code }
    })
  }
}

/** Loads a library that others need by name, and keeps it loaded. */
export function preload(koffi: Koffi, path: string): void {
  enlargeStack(koffi)
  koffi[PRELOADED] ??= new Map()
  if (!koffi[PRELOADED].has(path)) koffi[PRELOADED].set(path, koffi.load(path, { global: true }))
}

/** Sets koffi's stack size. Must be koffi's first call: after a library was loaded, koffi rejects it. */
function enlargeStack(koffi: Koffi): void {
  if (koffi.config().async_stack_size < STACK_BYTES) koffi.config({ async_stack_size: STACK_BYTES })
}

function loadLibrary(koffi: Koffi, path: string): Library {
  enlargeStack(koffi)
  const handle = koffi.load(path)
  const base = handle.func('OrtGetApiBase', 'void *', [])() as Pointer
  const version = functionAt(koffi, base, 1, 'str', [])() as string
  const table = functionAt(koffi, base, 0, 'void *', ['int'])(API_VERSION) as Pointer | null
  if (!table) throw new Error(`${path} is ONNX Runtime ${version}, which lacks interface ${API_VERSION}`)
  return { handle, version, table, functions: new Map(), providers: new Map() }
}

/** Returns the function in slot `slot` of the table at `table`. */
function functionAt(koffi: Koffi, table: Pointer, slot: number, result: string, types: readonly Argument[]): Native {
  const address = koffi.decode(table, slot * 8, 'void *') as Pointer
  const prototype = koffi.proto(
    result,
    types.map(type => cTypes[type])
  )
  return koffi.decode(address, 0, prototype) as Native
}

/** C strings; `pointers`: array of their addresses. Keep the object referenced during the call. */
export interface CStrings {
  readonly pointers: BigUint64Array
  readonly texts: readonly Uint8Array[]
}

/** Allocates memory for one address. Uses a separate buffer: tiny typed arrays may be on the heap and move. */
function pointerCell(): BigUint64Array {
  return new BigUint64Array(new ArrayBuffer(8))
}
