import type { Adapter, LowRankFactors } from '../adapter.ts'
import { invalidAdapter } from '../adapters/invalid-adapter.ts'
import type { DecoderConfig } from '../model-config.ts'
import { layerLinears, linearShape, type TensorNames } from './tensor-names.ts'

/**
 * Returns an adapter's updates by base tensor name.
 *
 * Throws `INF_ADAPTER_INVALID` if a label matches no tensor of this model, or its factors have the wrong shape.
 */
export function assignUpdates(
  config: DecoderConfig,
  names: TensorNames,
  adapter: Adapter
): ReadonlyMap<string, LowRankFactors> {
  const labels = new Map<string, string>([['lm_head', names.head]])
  const shapes = new Map<string, readonly number[]>([[names.head, [config.vocabularySize, config.hiddenSize]]])
  for (let layer = 0; layer < config.layers; layer++) {
    for (const kind of layerLinears(config, layer)) {
      labels.set(`l${layer}.${kind}`, names.linear(layer, kind))
      shapes.set(names.linear(layer, kind), linearShape(config, kind))
    }
  }
  const updates = new Map<string, LowRankFactors>()
  for (const [label, factors] of adapter.factors) {
    const refuse = (reason: string) => invalidAdapter(adapter.files[0] ?? '', `label ${label} ${reason}`)
    const tensor = adapter.baseKeys.get(label) ?? labels.get(label)
    if (tensor === undefined) throw refuse(`is unknown in a ${config.family} model of ${config.layers} layers`)
    const shape = shapes.get(tensor)
    if (shape === undefined) throw refuse(`changes ${tensor}, which is not a projection of this model`)
    const [rows, columns] = [factors.b.shape[0], factors.a.shape[1]]
    if (rows !== shape[0] || columns !== shape[1]) {
      throw refuse(`is for a tensor of shape [${rows}, ${columns}], but ${tensor} is [${shape.join(', ')}]`)
    }
    if (updates.has(tensor)) throw refuse(`changes ${tensor}, which another label also changes`)
    updates.set(tensor, factors)
  }
  return updates
}
