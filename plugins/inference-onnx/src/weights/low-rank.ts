import type { LowRankFactors } from '../adapter.ts'
import { buildLowRankUpdate } from '../onnx/low-rank.ts'
import { type Binding, elementCount, type HostTensor, type OrtSession, type Runtime } from '../ort/runtime.ts'
import type { TensorReader } from './tensor-reader.ts'

/** Merges low-rank updates into weight rows, on the runtime's threads. */
export class LowRankMerger {
  readonly #runtime: Runtime
  readonly #threads: number
  #session: Promise<OrtSession> | undefined

  constructor(runtime: Runtime, threads: number) {
    this.#runtime = runtime
    this.#threads = threads
  }

  /** Reads the factors of one update. Close the update before the merger. */
  async open(factors: LowRankFactors, reader: TensorReader): Promise<LowRankUpdate> {
    this.#session ??= this.#runtime.createSession({
      model: buildLowRankUpdate(),
      weights: null,
      threads: this.#threads
    })
    const session = await this.#session
    const [down, up] = [factors.a, factors.b].map(({ shape }) => new Float32Array(elementCount(shape))) as [
      Float32Array,
      Float32Array
    ]
    await reader.read(factors.a, 0, down, 'adapter')
    await reader.read(factors.b, 0, up, 'adapter')
    const a = this.#runtime.host('float32', factors.a.shape)
    a.data.set(down)
    return new LowRankUpdate(
      this.#runtime,
      session,
      a,
      up.map(value => value * factors.scale)
    )
  }

  async close(): Promise<void> {
    await (await this.#session)?.close()
  }
}

/** Update `W + b * a`, which is applied tile by tile. */
export class LowRankUpdate {
  readonly #runtime: Runtime
  readonly #session: OrtSession
  readonly #a: HostTensor<'float32'>
  readonly #b: Float32Array
  #tile: Tile | undefined

  constructor(runtime: Runtime, session: OrtSession, a: HostTensor<'float32'>, b: Float32Array) {
    this.#runtime = runtime
    this.#session = session
    this.#a = a
    this.#b = b
  }

  /** Updates `weight` in place: whole rows of the tensor, from row `firstRow`. */
  async apply(weight: Float32Array, firstRow: number): Promise<void> {
    const [rank, columns] = this.#a.shape as [number, number]
    const rows = weight.length / columns
    if (this.#tile?.rows !== rows) {
      this.#tile?.release()
      this.#tile = new Tile(this.#runtime, this.#session, this.#a, rows)
    }
    const tile = this.#tile
    tile.weight.data.set(weight)
    tile.b.data.set(this.#b.subarray(firstRow * rank, (firstRow + rows) * rank))
    await tile.binding.run()
    weight.set(tile.merged.data)
  }

  close(): void {
    this.#tile?.release()
    this.#a.release()
  }
}

/** Buffers for a fixed number of rows. */
class Tile {
  readonly rows: number
  readonly weight: HostTensor<'float32'>
  readonly b: HostTensor<'float32'>
  readonly merged: HostTensor<'float32'>
  readonly binding: Binding

  constructor(runtime: Runtime, session: OrtSession, a: HostTensor<'float32'>, rows: number) {
    const [rank, columns] = a.shape as [number, number]
    this.rows = rows
    this.weight = runtime.host('float32', [rows, columns])
    this.b = runtime.host('float32', [rows, rank])
    this.merged = runtime.host('float32', [rows, columns])
    this.binding = session.bind({ weight: this.weight, b: this.b, a }, { merged: this.merged })
  }

  release(): void {
    this.binding.release()
    for (const tensor of [this.weight, this.b, this.merged]) tensor.release()
  }
}
