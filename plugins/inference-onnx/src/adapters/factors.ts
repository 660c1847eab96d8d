import type { LowRankFactors } from '../adapter.ts'
import type { Bindings, Runtime, Tensor } from '../ort/runtime.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import type { LowRankSite } from './sites.ts'

/**
 * Factors of one adapter in memory, one pair for each site. Sites that the adapter does not change have zero factors.
 */
export interface AdapterFactors {
  /** Factors by the name of the graph input. */
  readonly inputs: Bindings
  readonly bytes: number
  /** Frees the memory. Call only when no binding uses the inputs. */
  release(): void
}

/**
 * Reads the factors of an adapter. `updates`: by the tensor that they change. Throws the reason of an aborted signal.
 */
export async function readFactors(
  runtime: Runtime,
  sites: readonly LowRankSite[],
  updates: ReadonlyMap<string, LowRankFactors>,
  signal?: AbortSignal
): Promise<AdapterFactors> {
  const reader = new TensorReader()
  const tensors = new Map<string, Tensor>()
  const release = () => {
    for (const tensor of tensors.values()) tensor.release()
  }
  let bytes = 0
  try {
    for (const site of sites) {
      signal?.throwIfAborted()
      const { rank, a, b } = await readSite(site, updates, reader)
      tensors.set(`${site.name}.a`, await runtime.constant([site.inputs, rank], a))
      tensors.set(`${site.name}.b`, await runtime.constant([rank, site.outputs], b))
      bytes += a.byteLength + b.byteLength
    }
    return { inputs: Object.fromEntries(tensors), bytes, release }
  } catch (error) {
    release()
    throw error
  } finally {
    await reader.close()
  }
}

interface SiteFactors {
  readonly rank: number
  /** `[inputs, rank]` */
  readonly a: Float32Array
  /** `[rank, outputs]`, scaled. */
  readonly b: Float32Array
}

/**
 * Reads the factors of one site. Joined projections share one pair: the ranks of their parts are concatenated, and each
 * part's rows of `b` are zero outside its outputs. Both factors are transposed, so that a single token reads them
 * sequentially.
 */
async function readSite(
  { inputs, outputs, parts }: LowRankSite,
  updates: ReadonlyMap<string, LowRankFactors>,
  reader: TensorReader
): Promise<SiteFactors> {
  const present = parts.flatMap(part => {
    const update = updates.get(part.tensor)
    return update === undefined ? [] : [{ part, update }]
  })
  // At least 1, because some devices reject empty tensors.
  const rank = Math.max(
    1,
    present.reduce((sum, { update }) => sum + rankOf(update), 0)
  )
  const a = new Float32Array(inputs * rank)
  const b = new Float32Array(rank * outputs)
  let first = 0
  for (const { part, update } of present) {
    const own = rankOf(update)
    const down = new Float32Array(own * inputs)
    const up = new Float32Array(part.rows * own)
    await reader.read(update.a, 0, down, 'adapter')
    await reader.read(update.b, 0, up, 'adapter')
    for (let r = 0; r < own; r++) {
      for (let i = 0; i < inputs; i++) a[i * rank + first + r] = down[r * inputs + i] as number
      const row = (first + r) * outputs + part.start
      for (let o = 0; o < part.rows; o++) b[row + o] = (up[o * own + r] as number) * update.scale
    }
    first += own
  }
  return { rank, a, b }
}

function rankOf({ a }: LowRankFactors): number {
  return a.shape[0] as number
}
