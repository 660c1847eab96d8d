import { type LinearAttentionConfig, linearSizes } from '../linear-config.ts'
import type { ServedConfig } from '../model-config.ts'
import { elementBytes, elementCount } from '../ort/runtime.ts'
import type { Precision } from './graph.ts'

/** Memory that a decoder keeps between runs. */
export interface CacheState {
  /** Name of the graph's input, and of the output with the new contents. */
  readonly past: string
  readonly present: string
  /**
   * `positions`: one entry per position, so a sequence can go back to an earlier length. `whole`: a summary of all
   * positions so far, which cannot be cut back.
   */
  readonly kind: 'positions' | 'whole'
  /** Shape of one sequence: `[heads, positions, size]`; the positions of `positions` are the capacity. */
  readonly shape: (capacity: number) => readonly [heads: number, positions: number, size: number]
}

type LayoutConfig = Pick<ServedConfig, 'layerKinds' | 'linear' | 'keyValueHeads' | 'headSize'>

/** Returns the states of a decoder, in the order of its layers. */
export function cacheLayout(config: LayoutConfig): readonly CacheState[] {
  return config.layerKinds.flatMap((kind, layer) =>
    kind === 'full' || config.linear === null ? positionStates(config, layer) : wholeStates(config.linear, layer)
  )
}

/** Returns the size of one position of one sequence, in bytes. */
export function positionBytes(config: LayoutConfig, precision: Precision = 'float32'): number {
  return bytesOf(config, 'positions', elementBytes[precision])
}

/** Returns the size of the states that summarise one sequence, in bytes. They are float32. */
export function wholeBytes(config: LayoutConfig): number {
  return bytesOf(config, 'whole', elementBytes.float32)
}

function bytesOf(config: LayoutConfig, wanted: CacheState['kind'], bytes: number): number {
  return cacheLayout(config)
    .filter(({ kind }) => kind === wanted)
    .reduce((sum, { shape }) => sum + elementCount(shape(1)) * bytes, 0)
}

/** Returns the name of a state's input or output. */
export function stateName(time: 'past' | 'present', layer: number, part: string): string {
  return `${time}.${layer}.${part}`
}

function positionStates({ keyValueHeads, headSize }: LayoutConfig, layer: number): readonly CacheState[] {
  return ['key', 'value'].map(part => ({
    past: stateName('past', layer, part),
    present: stateName('present', layer, part),
    kind: 'positions',
    shape: capacity => [keyValueHeads, capacity, headSize]
  }))
}

/** The convolution's last inputs, and the state of the linear attention. */
function wholeStates(linear: LinearAttentionConfig, layer: number): readonly CacheState[] {
  const shapes: Readonly<Record<string, readonly [number, number, number]>> = {
    conv: [1, linear.taps - 1, linearSizes(linear).mixed],
    recurrent: [linear.valueHeads, linear.keySize, linear.valueSize]
  }
  return Object.entries(shapes).map(([part, shape]) => ({
    past: stateName('past', layer, part),
    present: stateName('present', layer, part),
    kind: 'whole',
    shape: () => shape
  }))
}
