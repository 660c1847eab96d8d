import type { LinearWeight } from '../onnx/linear.ts'
import { toHalf } from './convert.ts'
import type { PackSink } from './pack.ts'
import { quantiseBlocks, quantiseChannels } from './quantise.ts'

const TRANSPOSED_BYTES = 2 ** 25

/** Form of a packed tensor. `stored-q4_0` is `block-int4`, with the values of blocks of GGUF. */
export type PackedForm = Exclude<LinearWeight['form'], 'joined'> | 'half' | 'stored-q4_0'

/** Location of a tensor in the packed file. */
export interface PackedPlace {
  readonly form: PackedForm
  readonly rows: number
  readonly columns: number
  /** Offset of the values in the packed file. */
  readonly offset: number
  /** Offset of the scales; unused for floats. */
  readonly scalesOffset: number
}

/** Encodes the next whole rows of a tensor, and writes them. */
export type Encoder = (weights: Float32Array) => Promise<void>

/** Opens an encoder of F32 weights. `transposedBytes`: bytes of a transposed tensor that are buffered before a write. */
export function openEncoder(place: PackedPlace, sink: PackSink, transposedBytes: number = TRANSPOSED_BYTES): Encoder {
  switch (place.form) {
    case 'float':
      return floatEncoder(place, sink)
    case 'channel-int8':
      return channelEncoder(place, sink, transposedBytes)
    case 'half':
      return halfEncoder(place, sink)
    case 'block-int4':
    case 'stored-q4_0':
      return blockEncoder(place, sink)
  }
}

function floatEncoder({ offset }: PackedPlace, sink: PackSink): Encoder {
  let position = offset
  return async weights => {
    await sink.write(bytesOf(weights), position)
    position += weights.byteLength
  }
}

function halfEncoder({ offset }: PackedPlace, sink: PackSink): Encoder {
  let position = offset
  return async weights => {
    const values = toHalf(weights)
    await sink.write(bytesOf(values), position)
    position += values.byteLength
  }
}

function blockEncoder({ columns, offset, scalesOffset }: PackedPlace, sink: PackSink): Encoder {
  let [position, scalesPosition] = [offset, scalesOffset]
  return async weights => {
    const { values, scales } = quantiseBlocks(weights, columns)
    await sink.write(values, position)
    await sink.write(bytesOf(scales), scalesPosition)
    position += values.byteLength
    scalesPosition += scales.byteLength
  }
}

/** Encodes and transposes: rows become columns. Buffers wide strips, so that each write is contiguous. */
function channelEncoder(place: PackedPlace, sink: PackSink, transposedBytes: number): Encoder {
  const { rows, columns, offset, scalesOffset } = place
  const width = Math.min(rows, Math.max(1, Math.floor(transposedBytes / columns)))
  const values = new Int8Array(columns * width)
  /** Number of rows written, and buffered. */
  let [done, gathered] = [0, 0]
  const flush = async () => {
    if (gathered === rows) {
      await sink.write(bytesOf(values), offset)
    } else {
      for (let column = 0; column < columns; column++) {
        const strip = values.subarray(column * width, column * width + gathered)
        await sink.write(bytesOf(strip), offset + column * rows + done)
      }
    }
    done += gathered
    gathered = 0
  }
  return async weights => {
    for (let first = 0; first < weights.length; ) {
      const count = Math.min(weights.length / columns - first / columns, width - gathered)
      const part = weights.subarray(first, first + count * columns)
      const scales = quantiseChannels(part, columns, { values, stride: width, first: gathered })
      await sink.write(bytesOf(scales), scalesOffset + (done + gathered) * 4)
      gathered += count
      first += part.length
      if (gathered === width || done + gathered === rows) await flush()
    }
  }
}

function bytesOf(array: Float32Array | Uint16Array | Int8Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}
