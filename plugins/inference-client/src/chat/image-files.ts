import { open } from 'node:fs/promises'
import { type ChatImage, imageOf, inferenceErrors, MAX_IMAGE_BYTES } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

/**
 * Returns the image of a file, or of an address that the provider loads. `source`: path or HTTPS URL. Throws
 * `ICL_IMAGE_INVALID`, naming the source.
 */
export async function readImage(source: string): Promise<ChatImage> {
  if (/^https?:\/\//i.test(source)) return { url: source }
  return imageOf((await readAtMost(source, MAX_IMAGE_BYTES)).toString('base64'), source)
}

async function readAtMost(path: string, maxBytes: number): Promise<Buffer> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      if (size > maxBytes) throw new Error(`it has ${size} bytes, and at most ${maxBytes} are sent; reduce its size`)
      // A file that grows meanwhile, or has no size, such as a pipe, is read up to the limit.
      const buffer = Buffer.alloc(maxBytes + 1)
      let read = 0
      for (let part = -1; part !== 0 && read <= maxBytes; read += part) {
        part = (await file.read(buffer, read, buffer.length - read, null)).bytesRead
      }
      if (read > maxBytes) throw new Error(`it has more than ${maxBytes} bytes; reduce its size`)
      return buffer.subarray(0, read)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw inferenceErrors.create('ICL_IMAGE_INVALID', `${path}: ${errorMessage(error)}`, {
      at: { file: path },
      cause: error
    })
  }
}
