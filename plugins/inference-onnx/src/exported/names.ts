import { ConfigFields } from '../config-fields.ts'
import { type Precision, storedType } from '../onnx/graph.ts'
import type { ExportedNames } from './adapt.ts'
import type { OnnxParts } from './onnx-parts.ts'

/** Names in exports of Optimum and, by default, of onnxruntime-genai. `%d` is the layer. */
const defaults = {
  input_ids: 'input_ids',
  attention_mask: 'attention_mask',
  position_ids: 'position_ids',
  past_key_names: 'past_key_values.%d.key',
  past_value_names: 'past_key_values.%d.value',
  logits: 'logits',
  present_key_names: 'present.%d.key',
  present_value_names: 'present.%d.value'
}

/**
 * Finds the inputs and outputs of an exported decoder. `decoder`: its section in `genai_config.json`.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for an unknown or missing input, or a cache with mixed or unsupported types.
 */
export function readNames(file: string, parts: OnnxParts, decoder: ConfigFields | null): ExportedNames {
  const fields = new ConfigFields(file, {})
  const stated = { ...decoder?.section('inputs')?.values, ...decoder?.section('outputs')?.values }
  const name = (key: keyof typeof defaults) =>
    typeof stated[key] === 'string' ? (stated[key] as string) : defaults[key]
  const inputs = new Map(parts.inputs.map(input => [input.name, input]))
  const outputs = new Map(parts.outputs.map(output => [output.name, output]))
  const optional = (key: keyof typeof defaults) => (inputs.has(name(key)) ? name(key) : null)

  const caches: ExportedNames['caches'][number][] = []
  const half = (which: 'key' | 'value', layer: number) => ({
    past: name(`past_${which}_names`).replace('%d', `${layer}`),
    present: name(`present_${which}_names`).replace('%d', `${layer}`)
  })
  while (inputs.has(half('key', caches.length).past)) {
    caches.push({ key: half('key', caches.length), value: half('value', caches.length) })
  }
  const names: ExportedNames = {
    tokens: name('input_ids'),
    mask: optional('attention_mask'),
    positions: optional('position_ids'),
    logits: name('logits'),
    caches,
    precision: precisionOfType(inputs.get(caches[0]?.key.past ?? '')?.elementType) ?? 'float32'
  }
  const pasts = caches.flatMap(({ key, value }) => [key.past, value.past])
  const presents = caches.flatMap(({ key, value }) => [key.present, value.present])
  const known = new Set([names.tokens, names.mask, names.positions, ...pasts])
  for (const input of inputs.keys()) {
    if (!known.has(input)) throw fields.unsupported('input', input, [...known].filter(Boolean).join(', '))
  }
  if (caches.length === 0) throw fields.unsupported('inputs', [...inputs.keys()], 'a decoder with its past as input')
  for (const needed of [names.tokens, ...pasts]) {
    if (!inputs.has(needed)) throw fields.unsupported('inputs', [...inputs.keys()], `${needed} among them`)
  }
  for (const needed of [names.logits, ...presents]) {
    if (!outputs.has(needed)) throw fields.unsupported('outputs', [...outputs.keys()], `${needed} among them`)
  }
  for (const past of pasts) {
    const type = inputs.get(past)?.elementType
    if (precisionOfType(type) === null || type !== inputs.get(pasts[0] as string)?.elementType) {
      throw fields.unsupported(`${past} of element type`, type, 'float32 (1), float16 (10), bfloat16 (16)')
    }
  }
  const made = new Set(parts.nodes.flatMap(node => node.outputs))
  for (const output of [names.logits, ...presents]) {
    if (!made.has(output)) throw fields.unsupported('output', output, 'outputs that an operator computes')
  }
  refuseInnerUse(fields, parts, names, [...pasts, ...presents])
  return names
}

function precisionOfType(type: number | undefined): Precision | null {
  return (['float32', 'float16', 'bfloat16'] as const).find(precision => storedType[precision] === type) ?? null
}

/** Throws if a subgraph uses a value that is renamed: only uses in the main graph are renamed. */
function refuseInnerUse(fields: ConfigFields, parts: OnnxParts, names: ExportedNames, caches: readonly string[]): void {
  const changed = [...caches, names.tokens, names.logits]
  for (const { operator, innerGraphs } of parts.nodes) {
    for (const graph of innerGraphs) {
      const used = changed.find(name => Buffer.from(graph).includes(name))
      if (used !== undefined) throw fields.unsupported(`${operator} with a graph that uses`, used, 'one graph')
    }
  }
}
