import { speechErrors } from '@svc/contracts'

export interface Sound {
  /** One channel, from -1 to 1. */
  readonly samples: Float32Array
  /** Samples per second. */
  readonly rate: number
}

const PCM = 1
const FLOAT = 3
const EXTENSIBLE = 0xfffe
const MAX_CHANNELS = 64
const MAX_RATE = 768_000

interface Format {
  readonly kind: number
  readonly channels: number
  readonly rate: number
  readonly bits: number
}

/**
 * Reads a RIFF WAVE file: 8-, 16-, 24- or 32-bit PCM, or 32- or 64-bit floats. Averages the channels. A truncated file,
 * or one without a length, such as one written to a pipe, is read to its end.
 *
 * `name` is for messages. Throws `SPC_AUDIO_INVALID`, and `SPC_AUDIO_UNSUPPORTED` for other encodings.
 */
export function readWav(bytes: Buffer, name: string): Sound {
  const invalid = (why: string) => speechErrors.create('SPC_AUDIO_INVALID', `${name} is not a WAV file: ${why}`)
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
    throw invalid('it does not begin with RIFF and WAVE')
  let format: Format | null = null
  for (let at = 12; at + 8 <= bytes.length; ) {
    const id = bytes.toString('latin1', at, at + 4)
    const length = bytes.readUInt32LE(at + 4)
    const body = bytes.subarray(at + 8, Math.min(bytes.length, at + 8 + length))
    if (id === 'fmt ') format = formatOf(body, invalid)
    if (id === 'data') {
      if (format === null) throw invalid('its data comes before its format')
      return { samples: mixDown(body, format, name), rate: format.rate }
    }
    // Chunks begin at even offsets.
    at += 8 + length + (length % 2)
  }
  throw invalid(format === null ? 'it has no format' : 'it has no data')
}

function formatOf(body: Buffer, invalid: (why: string) => Error): Format {
  if (body.length < 16) throw invalid('its format is truncated')
  const tag = body.readUInt16LE(0)
  if (tag === EXTENSIBLE && body.length < 26) throw invalid('its format is truncated')
  const format = {
    kind: tag === EXTENSIBLE ? body.readUInt16LE(24) : tag,
    channels: body.readUInt16LE(2),
    rate: body.readUInt32LE(4),
    bits: body.readUInt16LE(14)
  }
  if (format.channels < 1 || format.channels > MAX_CHANNELS) throw invalid(`it has ${format.channels} channels`)
  if (format.rate < 1 || format.rate > MAX_RATE) throw invalid(`it has ${format.rate} samples per second`)
  return format
}

function mixDown(body: Buffer, { kind, channels, bits }: Format, name: string): Float32Array {
  const read = readerOf(kind, bits)
  if (read === undefined)
    throw speechErrors.create(
      'SPC_AUDIO_UNSUPPORTED',
      `${name} has the WAVE format ${kind} with ${bits} bits per sample, which is not supported`,
      {
        hint: 'convert the file to 16-bit PCM'
      }
    )
  const size = bits / 8
  const samples = new Float32Array(Math.floor(body.length / (size * channels)))
  for (let at = 0; at < samples.length; at++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += read(body, (at * channels + channel) * size)
    const mean = sum / channels
    // NaN becomes 0, and values outside -1 to 1 are clamped.
    samples[at] = Number.isNaN(mean) ? 0 : Math.max(-1, Math.min(1, mean))
  }
  return samples
}

type Read = (bytes: Buffer, at: number) => number

function readerOf(kind: number, bits: number): Read | undefined {
  const readers: Readonly<Record<string, Read>> = {
    [`${PCM} 8`]: (bytes, at) => (bytes.readUInt8(at) - 128) / 128,
    [`${PCM} 16`]: (bytes, at) => bytes.readInt16LE(at) / 2 ** 15,
    [`${PCM} 24`]: (bytes, at) => bytes.readIntLE(at, 3) / 2 ** 23,
    [`${PCM} 32`]: (bytes, at) => bytes.readInt32LE(at) / 2 ** 31,
    [`${FLOAT} 32`]: (bytes, at) => bytes.readFloatLE(at),
    [`${FLOAT} 64`]: (bytes, at) => bytes.readDoubleLE(at)
  }
  return readers[`${kind} ${bits}`]
}
