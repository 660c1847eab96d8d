import type { ConfigFields } from './config-fields.ts'
import type { FamilyTraits } from './model-families.ts'

/**
 * Returns the attention window of each layer in positions, including the current one; null for full attention.
 *
 * `layer_types` applies only if the family supports it. Throws `INF_ARCHITECTURE_UNSUPPORTED` for a layer type that the
 * family does not support.
 */
export function attentionWindows(fields: ConfigFields, traits: FamilyTraits, layers: number): (number | null)[] {
  const types = layerTypes(fields, layers, traits)
  const { window } = traits
  if (typeof window === 'string') {
    const slides = window === 'all layers' && fields.values.sliding_window !== null
    const size = slides ? fields.count('sliding_window') : null
    const other = types?.find(type => (type === 'sliding_attention') !== slides)
    if (other !== undefined) {
      throw fields.unsupported('layer_types', other, slides ? 'sliding_attention' : 'full_attention')
    }
    return Array.from({ length: layers }, () => size)
  }
  const enabled = window.enabled(fields) && (fields.values.sliding_window ?? null) !== null
  return Array.from({ length: layers }, (_, layer) => {
    const slides = types === null ? enabled && window.slides(fields, layer) : types[layer] === 'sliding_attention'
    return slides ? fields.count('sliding_window') : null
  })
}

function layerTypes(fields: ConfigFields, layers: number, traits: FamilyTraits): readonly string[] | null {
  const types = fields.values.layer_types ?? null
  if (types === null) return null
  if (!Array.isArray(types) || types.length !== layers) {
    throw fields.refuse('layer_types', `${JSON.stringify(types)} is not a list of ${layers} types`)
  }
  const known = ['full_attention', traits.linearAttention ? 'linear_attention' : 'sliding_attention']
  const unknown = types.find(type => !known.includes(type))
  if (unknown !== undefined) throw fields.unsupported('layer_types', unknown, known.join(', '))
  return types
}
