import { type ProtoField, protoFields, textOf } from './proto-fields.ts'

/** Operator of a graph. Attributes and other fields stay encoded. */
export interface GraphNode {
  readonly operator: string
  readonly domain: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Numeric attributes. */
  readonly numbers: ReadonlyMap<string, number>
  /** Encoded subgraphs. Any string in them may be the name of a value of the outer graph. */
  readonly subgraphs: readonly Uint8Array[]
  readonly rest: readonly Uint8Array[]
}

export interface GraphValue {
  readonly name: string
  readonly elementType: number
  /** Numbers for fixed dimensions, null for others. */
  readonly shape: readonly (number | null)[]
}

export interface GraphWeight {
  readonly name: string
  readonly elementType: number
  readonly elements: number
  /** File that contains the bytes; null if they are in the model. */
  readonly location: string | null
  readonly raw: Uint8Array
}

/** Parts of an ONNX model that are required to adapt its interface. */
export interface OnnxParts {
  readonly irVersion: number
  /** Operator set of the standard domain. */
  readonly opset: number
  /** Fields copied from the model: operator sets, functions, metadata. */
  readonly modelFields: readonly Uint8Array[]
  readonly nodes: readonly GraphNode[]
  readonly inputs: readonly GraphValue[]
  readonly outputs: readonly GraphValue[]
  readonly weights: readonly GraphWeight[]
}

/** Decodes an ONNX `ModelProto`. Throws an `Error` for other data. */
export function readOnnx(model: Uint8Array): OnnxParts {
  let irVersion = 0
  let opset = 0
  let graph: Uint8Array | null = null
  const modelFields: Uint8Array[] = []
  for (const field of protoFields(model)) {
    if (field.number === 1) irVersion = Number(field.integer)
    else if (field.number === 7) graph = field.bytes
    else modelFields.push(field.raw)
    if (field.number === 8) opset = standardOpset(field.bytes) ?? opset
  }
  if (graph === null) throw new Error('it contains no graph')
  const parts = { nodes: [] as GraphNode[], inputs: [] as GraphValue[], outputs: [] as GraphValue[] }
  const weights: GraphWeight[] = []
  for (const { number, bytes, raw } of protoFields(graph)) {
    if (number === 1) parts.nodes.push(readNode(bytes))
    else if (number === 5) weights.push(readWeight(bytes, raw))
    else if (number === 11) parts.inputs.push(readValue(bytes))
    else if (number === 12) parts.outputs.push(readValue(bytes))
    else if (number === 15) throw new Error('it contains sparse weights')
  }
  const names = new Set(weights.map(({ name }) => name))
  return {
    irVersion,
    opset,
    modelFields,
    ...parts,
    inputs: parts.inputs.filter(({ name }) => !names.has(name)),
    weights
  }
}

function standardOpset(bytes: Uint8Array): number | null {
  const fields = [...protoFields(bytes)]
  const domain = fields.find(field => field.number === 1)
  if (domain !== undefined && !['', 'ai.onnx'].includes(textOf(domain))) return null
  return Number(fields.find(field => field.number === 2)?.integer ?? 0n)
}

function readNode(message: Uint8Array): GraphNode {
  const texts = new Map<number, string[]>([1, 2, 4, 7].map(number => [number, []]))
  const numbers = new Map<string, number>()
  const subgraphs: Uint8Array[] = []
  const rest: Uint8Array[] = []
  for (const field of protoFields(message)) {
    const list = texts.get(field.number)
    if (list !== undefined) list.push(textOf(field))
    else rest.push(field.raw)
    if (field.number !== 5) continue
    const attribute = [...protoFields(field.bytes)]
    const name = attribute.find(part => part.number === 1)
    const value = attribute.find(part => part.number === 2 || part.number === 3)
    if (name !== undefined && value !== undefined) numbers.set(textOf(name), numberOf(value))
    for (const part of attribute) if (part.number === 6 || part.number === 11) subgraphs.push(part.bytes)
  }
  const get = (number: number) => texts.get(number) ?? []
  const [operator = '', domain = ''] = [get(4)[0], get(7)[0]]
  return { operator, domain, inputs: get(1), outputs: get(2), numbers, subgraphs, rest }
}

/** Returns the number in an attribute, whose field 2 is a float and field 3 an integer. */
function numberOf({ number, integer, raw }: ProtoField): number {
  return number === 3 ? Number(integer) : Buffer.from(raw).readFloatLE(raw.length - 4)
}

function readWeight(message: Uint8Array, raw: Uint8Array): GraphWeight {
  let [name, elementType, elements] = ['', 0, 1]
  let location: string | null = null
  for (const field of protoFields(message)) {
    if (field.number === 1) for (const size of integersOf(field)) elements *= Number(size)
    if (field.number === 2) elementType = Number(field.integer)
    if (field.number === 8) name = textOf(field)
    if (field.number === 13) location = entryOf(field.bytes, 'location') ?? location
  }
  return { name, elementType, elements, location, raw }
}

/** Returns the integers of a field: a single one, or several packed together. */
function integersOf(field: ProtoField): readonly bigint[] {
  if (field.bytes.length === 0) return [field.integer]
  const packed: bigint[] = []
  let [value, shift] = [0n, 0n]
  for (const byte of field.bytes) {
    value |= BigInt(byte & 127) << shift
    shift += 7n
    if (byte >= 128) continue
    packed.push(value)
    value = 0n
    shift = 0n
  }
  return packed
}

function entryOf(message: Uint8Array, key: string): string | null {
  const fields = [...protoFields(message)]
  const [name, value] = [1, 2].map(number => fields.find(field => field.number === number))
  return name !== undefined && value !== undefined && textOf(name) === key ? textOf(value) : null
}

function readValue(message: Uint8Array): GraphValue {
  let name = ''
  let elementType = 0
  const shape: (number | null)[] = []
  for (const field of protoFields(message)) {
    if (field.number === 1) name = textOf(field)
    if (field.number !== 2) continue
    for (const tensor of only(field.bytes, 1)) {
      for (const part of protoFields(tensor)) {
        if (part.number === 1) elementType = Number(part.integer)
        if (part.number !== 2) continue
        for (const dimension of only(part.bytes, 1)) {
          const size = [...protoFields(dimension)].find(entry => entry.number === 1)
          shape.push(size === undefined ? null : Number(size.integer))
        }
      }
    }
  }
  return { name, elementType, shape }
}

function* only(message: Uint8Array, number: number): Generator<Uint8Array> {
  for (const field of protoFields(message)) if (field.number === number) yield field.bytes
}
