import { ProtoWriter } from './protobuf.ts'

/** Element types of ONNX tensors (`TensorProto.DataType`). */
export const elementType = { float32: 1, int32: 6, int64: 7 } as const
export type ElementType = keyof typeof elementType

/** Element types of weights, including those that only the engine uses. */
export const storedType = { ...elementType, uint8: 2, int8: 3, float16: 10, bfloat16: 16 } as const
export type StoredType = keyof typeof storedType

/** Element types in which a decoder can compute. */
export type Precision = 'float32' | 'float16' | 'bfloat16'

/** Tensor in a file; `location`: path relative to the folder that is passed to the session. */
export interface ExternalTensor {
  readonly name: string
  /** Default float32. */
  readonly type?: StoredType
  readonly shape: readonly number[]
  readonly location: string
  readonly offset: number
  readonly byteLength: number
}

export type Dimension = number | string
/** Value of an attribute: a number is an `INT`; `{ float }` is a `FLOAT`. */
export type AttributeValue = number | string | { readonly float: number }
export type Attributes = Readonly<Record<string, AttributeValue>>

const MICROSOFT = 'com.microsoft'
const OPSET = 21
const IR_VERSION = 10

/** Collects the nodes of an ONNX model and serialises it. Values are identified by name; '' means absent. */
export class OnnxGraph {
  /** Precision of weights and activations. */
  readonly precision: Precision
  /** True if the device supports `FusedMatMul`, which can multiply by a transposed matrix. */
  readonly fusedProducts: boolean
  readonly #name: string
  readonly #nodes: ProtoWriter[] = []
  readonly #initializers = new Map<string, ProtoWriter>()
  readonly #inputs: ProtoWriter[] = []
  readonly #outputs: ProtoWriter[] = []
  readonly #converted = new Set<string>()
  readonly #added = new Set<string>()

  constructor(name: string, precision: Precision = 'float32', fusedProducts = true) {
    this.#name = name
    this.precision = precision
    this.fusedProducts = fusedProducts
  }

  input(name: string, type: ElementType | Precision, shape: readonly Dimension[]): string {
    this.#inputs.push(valueInfo(name, type, shape))
    return name
  }

  output(name: string, type: ElementType | Precision, shape: readonly Dimension[]): string {
    this.#outputs.push(valueInfo(name, type, shape))
    return name
  }

  /** Adds a tensor whose data is part of the model; returns its name. */
  constant(name: string, type: StoredType, shape: readonly number[], data: Uint8Array): string {
    this.#initializers.set(name, tensorHeader(name, type, shape).bytes(9, data))
    return name
  }

  integers(name: string, values: readonly number[]): string {
    const data = BigInt64Array.from(values, BigInt)
    return this.constant(name, 'int64', [values.length], new Uint8Array(data.buffer))
  }

  /** Calls `add`, which adds the value `name`, unless it was called for that name before; returns the name. */
  once(name: string, add: () => void): string {
    if (!this.#added.has(name)) add()
    this.#added.add(name)
    return name
  }

  /** Adds a scalar in the graph's precision, or in another; returns its name. */
  scalar(name: string, value: number, precision: Precision = this.precision): string {
    const constant = this.constant(name, 'float32', [], new Uint8Array(Float32Array.of(value).buffer))
    return this.inPrecision(constant, 'float32', precision)
  }

  /** Adds a tensor in a file, cast to the graph's precision. The cast runs once, when the session is created. */
  weight(tensor: ExternalTensor): string {
    return this.inPrecision(this.external(tensor), tensor.type ?? 'float32')
  }

  /** Casts a value of type `type` to the graph's precision, or another one. Each cast is added only once. */
  inPrecision(value: string, type: StoredType, precision: Precision = this.precision): string {
    if (type === precision) return value
    const converted = `${value}.${precision}`
    if (!this.#converted.has(converted)) this.node('Cast', [value], converted, { to: storedType[precision] })
    this.#converted.add(converted)
    return converted
  }

  /** Adds a tensor in a file. The same tensor becomes one initializer, so tied weights are stored once. */
  external(tensor: ExternalTensor): string {
    const entry = (key: string, value: string) => new ProtoWriter().string(1, key).string(2, value)
    this.#initializers.set(
      tensor.name,
      tensorHeader(tensor.name, tensor.type ?? 'float32', tensor.shape)
        .message(13, entry('location', tensor.location))
        .message(13, entry('offset', String(tensor.offset)))
        .message(13, entry('length', String(tensor.byteLength)))
        .integer(14, 1)
    )
    return tensor.name
  }

  /** Adds a standard operator with one output, called `output`, and returns that name. */
  node(operator: string, inputs: readonly string[], output: string, attributes: Attributes = {}): string {
    return this.#node(operator, inputs, [output], attributes, '')
  }

  /** Adds an operator with several outputs. */
  nodeWithOutputs(
    operator: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {}
  ): void {
    this.#node(operator, inputs, outputs, attributes, '')
  }

  /** Adds an operator of ONNX Runtime's own domain; returns the first output. */
  contrib(
    operator: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {}
  ): string {
    return this.#node(operator, inputs, outputs, attributes, MICROSOFT)
  }

  /** Serialises the model as an ONNX `ModelProto`. */
  toBytes(): Uint8Array {
    const graph = new ProtoWriter()
    for (const node of this.#nodes) graph.message(1, node)
    graph.string(2, this.#name)
    for (const initializer of this.#initializers.values()) graph.message(5, initializer)
    for (const input of this.#inputs) graph.message(11, input)
    for (const output of this.#outputs) graph.message(12, output)
    return new ProtoWriter()
      .integer(1, IR_VERSION)
      .string(2, 'svc')
      .message(7, graph)
      .message(8, new ProtoWriter().string(1, '').integer(2, OPSET))
      .message(8, new ProtoWriter().string(1, MICROSOFT).integer(2, 1))
      .finish()
  }

  #node(
    operator: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes,
    domain: string
  ): string {
    const node = new ProtoWriter()
    for (const input of inputs) node.string(1, input)
    for (const output of outputs) node.string(2, output)
    node.string(3, `${operator}:${outputs[0] ?? ''}`).string(4, operator)
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value))
    if (domain !== '') node.string(7, domain)
    this.#nodes.push(node)
    return outputs[0] ?? ''
  }
}

function attribute(name: string, value: AttributeValue): ProtoWriter {
  const writer = new ProtoWriter().string(1, name)
  if (typeof value === 'number') return writer.integer(3, value).integer(20, 2)
  if (typeof value === 'string') return writer.string(4, value).integer(20, 3)
  return writer.float(2, value.float).integer(20, 1)
}

function tensorHeader(name: string, type: StoredType, shape: readonly number[]): ProtoWriter {
  const tensor = new ProtoWriter()
  for (const dimension of shape) tensor.integer(1, dimension)
  return tensor.integer(2, storedType[type]).string(8, name)
}

function valueInfo(name: string, type: StoredType, shape: readonly Dimension[]): ProtoWriter {
  const dimensions = new ProtoWriter()
  for (const dimension of shape) {
    const entry = new ProtoWriter()
    dimensions.message(1, typeof dimension === 'string' ? entry.string(2, dimension) : entry.integer(1, dimension))
  }
  const tensorType = new ProtoWriter().integer(1, storedType[type]).message(2, dimensions)
  return new ProtoWriter().string(1, name).message(2, new ProtoWriter().message(1, tensorType))
}
