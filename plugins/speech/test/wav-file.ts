export interface WavOptions {
  /** 1 for PCM, 3 for floats. */
  readonly kind?: number
  readonly bits?: number
  readonly rate?: number
  readonly extensible?: boolean
  /** Content of a chunk before the data. */
  readonly before?: Buffer
}

/** Returns a WAV file with these channels. */
export function wavFile(channels: readonly Float32Array[], options: WavOptions = {}): Buffer {
  const { kind = 1, bits = 16, rate = 16_000, extensible = false, before } = options
  const size = bits / 8
  const length = channels[0]?.length ?? 0
  const data = Buffer.alloc(length * channels.length * size)
  for (let at = 0; at < length; at++) {
    for (const [channel, samples] of channels.entries())
      write(data, (at * channels.length + channel) * size, samples[at]!, kind, bits)
  }
  const format = Buffer.alloc(extensible ? 40 : 16)
  format.writeUInt16LE(extensible ? 0xfffe : kind, 0)
  format.writeUInt16LE(channels.length, 2)
  format.writeUInt32LE(rate, 4)
  format.writeUInt32LE(rate * channels.length * size, 8)
  format.writeUInt16LE(channels.length * size, 12)
  format.writeUInt16LE(bits, 14)
  if (extensible) format.writeUInt16LE(kind, 24)
  const chunks = [chunk('fmt ', format), ...(before === undefined ? [] : [chunk('note', before)]), chunk('data', data)]
  return chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]))
}

function chunk(id: string, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.write(id, 'latin1')
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)])
}

function write(data: Buffer, at: number, value: number, kind: number, bits: number): void {
  if (kind === 3) {
    if (bits === 32) data.writeFloatLE(value, at)
    else data.writeDoubleLE(value, at)
    return
  }
  if (bits === 8) data.writeUInt8(Math.round(value * 127) + 128, at)
  else data.writeIntLE(Math.round(value * (2 ** (bits - 1) - 1)), at, bits / 8)
}
