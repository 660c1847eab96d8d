import { ConfigFields } from '../config-fields.ts'
import { inferenceErrors } from '../errors.ts'
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
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for an unknown input, a missing input or output, a cache with mixed or
 * unsupported types, and an output or subgraph that cannot be adapted.
 */
export function readNames(file: string, parts: OnnxParts, decoder: ConfigFields | null): ExportedNames {
  const fields = new ConfigFields(file, {})
  const configured = { ...decoder?.section('inputs')?.values, ...decoder?.section('outputs')?.values }
  const name = (key: keyof typeof defaults) =>
    typeof configured[key] === 'string' ? (configured[key] as string) : defaults[key]
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
  if (caches.length === 0) throw missing(file, 'input', half('key', 0).past, inputs.keys())
  for (const needed of [names.tokens, ...pasts]) {
    if (!inputs.has(needed)) throw missing(file, 'input', needed, inputs.keys())
  }
  for (const needed of [names.logits, ...presents]) {
    if (!outputs.has(needed)) throw missing(file, 'output', needed, outputs.keys())
  }
  const cacheType = inputs.get(pasts[0] as string)?.elementType
  for (const past of pasts) {
    const type = inputs.get(past)?.elementType
    if (precisionOfType(type) === null) {
      throw fields.unsupported(`${past}: element type`, type, 'float32 (1), float16 (10), bfloat16 (16)')
    }
    if (type !== cacheType) throw fields.unsupported(`${past}: element type`, type, `${cacheType}, as in ${pasts[0]}`)
  }
  const computed = new Set(parts.nodes.flatMap(node => node.outputs))
  for (const output of [names.logits, ...presents]) {
    if (!computed.has(output)) throw fields.unsupported('output', output, 'outputs that an operator computes')
  }
  assertNoSubgraphUse(fields, parts, names, [...pasts, ...presents])
  return names
}

function precisionOfType(type: number | undefined): Precision | null {
  return (['float32', 'float16', 'bfloat16'] as const).find(precision => storedType[precision] === type) ?? null
}

/** Returns the error for a missing input or output of the graph. */
function missing(file: string, kind: 'input' | 'output', name: string, present: Iterable<string>) {
  const names = [...present].join(', ') || 'none'
  return inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `${file}: ${kind} ${name} is missing; ${kind}s: ${names}`,
    {
      at: { file },
      data: { field: kind, value: name, present: names },
      hint: 'Export the model as a decoder with a cache, or name its inputs and outputs in genai_config.json.'
    }
  )
}

/** Throws if a subgraph uses a value that is renamed: only uses in the main graph are renamed. */
function assertNoSubgraphUse(
  fields: ConfigFields,
  parts: OnnxParts,
  names: ExportedNames,
  caches: readonly string[]
): void {
  const renamed = [...caches, names.tokens, names.logits]
  for (const { operator, subgraphs } of parts.nodes) {
    for (const graph of subgraphs) {
      const used = renamed.find(name => Buffer.from(graph).includes(name))
      if (used === undefined) continue
      throw fields.unsupported(`subgraph of ${operator} that uses`, used, 'subgraphs without caches, tokens and logits')
    }
  }
}
