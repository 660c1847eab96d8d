/** Tensor to write. */
export interface Source {
  readonly dtype: string
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

/** Returns the bytes of a safetensors file. */
export function safetensors(tensors: Readonly<Record<string, Source>>, metadata?: Record<string, string>): Uint8Array {
  // The object has no prototype, so that a tensor may be called `__proto__`.
  const header: Record<string, unknown> = Object.create(null)
  if (metadata !== undefined) header.__metadata__ = metadata
  let offset = 0
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.byteLength] }
    offset += data.byteLength
  }
  return withHeader(JSON.stringify(header), Buffer.concat(Object.values(tensors).map(({ data }) => data)))
}

/** Returns the bytes of a file with any header. */
export function withHeader(header: string, data: Uint8Array): Uint8Array {
  const text = Buffer.from(header)
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(BigInt(text.byteLength))
  return Buffer.concat([prefix, text, data])
}

export function floats(shape: readonly number[], value: (index: number) => number): Source {
  const count = shape.reduce((a, b) => a * b, 1)
  return { dtype: 'F32', shape, data: new Uint8Array(Float32Array.from({ length: count }, (_, i) => value(i)).buffer) }
}
