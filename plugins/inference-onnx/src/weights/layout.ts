import type { Quantization } from '@svc/contracts'
import type { ExternalTensor } from '../onnx/graph.ts'
import { BLOCK, type LinearWeight } from '../onnx/linear.ts'
import type { PackedPlace } from './encode.ts'
import type { WeightSource } from './plan.ts'
import { blocksPerRow } from './quantise.ts'

/** Alignment of tensors in a packed file, so that they can be mapped. */
const ALIGNMENT = 4096
const FLOAT_BYTES = 4
const HALF_BYTES = 2

/** Tensor to write: the concatenated rows of its sources. */
export interface PackedTensor extends PackedPlace {
  readonly sources: readonly WeightSource[]
}

/** Assigns each tensor an offset in the packed file. */
export class PackedLayout {
  readonly #location: string
  readonly #tensors: PackedTensor[] = []
  #byteLength = 0

  /** `location`: name of the packed file in the model. */
  constructor(location: string) {
    this.#location = location
  }

  get tensors(): readonly PackedTensor[] {
    return this.#tensors
  }

  get byteLength(): number {
    return this.#byteLength
  }

  floats(name: string, sources: readonly WeightSource[]): ExternalTensor {
    const { rows, columns } = sizes(sources)
    const [first] = sources as [WeightSource]
    const shape = first.entry.shape.length === 1 ? [rows * columns] : [rows, columns]
    const values = this.#reserve(name, shape, FLOAT_BYTES)
    this.#tensors.push({ form: 'float', sources, rows, columns, offset: values.offset, scalesOffset: 0 })
    return values
  }

  /** Reserves a matrix in half precision. */
  halves(name: string, sources: readonly WeightSource[]): ExternalTensor {
    const { rows, columns } = sizes(sources)
    const values: ExternalTensor = { ...this.#reserve(name, [rows, columns], HALF_BYTES), type: 'float16' }
    this.#tensors.push({ form: 'half', sources, rows, columns, offset: values.offset, scalesOffset: 0 })
    return values
  }

  /** Reserves a matrix of Q4_0 blocks, whose values are kept. */
  stored(name: string, sources: readonly WeightSource[]): LinearWeight {
    return this.#blocks(name, sources, true)
  }

  weight(name: string, sources: readonly WeightSource[], quantization: Quantization): LinearWeight {
    if (quantization === 'none') return { form: 'float', values: this.floats(name, sources) }
    if (quantization === 'q4') return this.#blocks(name, sources, false)
    const { rows, columns } = sizes(sources)
    const values: ExternalTensor = { ...this.#reserve(name, [columns, rows], 1), type: 'int8' }
    const scales = this.#reserve(`${name}.scales`, [rows], FLOAT_BYTES)
    this.#tensors.push({
      form: 'channel-int8',
      sources,
      rows,
      columns,
      offset: values.offset,
      scalesOffset: scales.offset
    })
    return { form: 'channel-int8', values, scales }
  }

  #blocks(name: string, sources: readonly WeightSource[], stored: boolean): LinearWeight {
    const { rows, columns } = sizes(sources)
    const blocks = blocksPerRow(columns)
    const values: ExternalTensor = { ...this.#reserve(name, [rows, blocks, BLOCK / 2], 1), type: 'uint8' }
    const scales = this.#reserve(`${name}.scales`, [rows * blocks], FLOAT_BYTES)
    const form = stored ? 'stored-q4_0' : 'block-int4'
    this.#tensors.push({ form, sources, rows, columns, offset: values.offset, scalesOffset: scales.offset })
    return { form: 'block-int4', inputs: columns, outputs: rows, values, scales }
  }

  #reserve(name: string, shape: readonly number[], elementBytes: number): ExternalTensor {
    const offset = Math.ceil(this.#byteLength / ALIGNMENT) * ALIGNMENT
    const byteLength = shape.reduce((product, size) => product * size, elementBytes)
    this.#byteLength = offset + byteLength
    return { name, shape, location: this.#location, offset, byteLength }
  }
}

/** Returns rows and columns of joined sources; a vector counts as one row, and further dimensions as columns. */
function sizes(sources: readonly WeightSource[]): { readonly rows: number; readonly columns: number } {
  const shapes = sources.map(({ entry }) => entry.shape)
  const [first] = shapes as [readonly number[]]
  if (first.length === 1) return { rows: 1, columns: shapes.reduce((sum, [size]) => sum + (size as number), 0) }
  const columns = first.slice(1).reduce((product, size) => product * size, 1)
  return { rows: shapes.reduce((sum, [size]) => sum + (size as number), 0), columns }
}
