import type { InferenceChatRequest } from './client.ts'
import type { ChatMessage } from './engine.ts'
import { inferenceErrors } from './errors.ts'

/** Media types that every provider with models for images accepts. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

export type ImageType = (typeof IMAGE_TYPES)[number]

/** An image in a message: its content in base64, or the address from which the provider loads it. */
export type ChatImage =
  | { readonly mediaType: ImageType; readonly data: string }
  /** HTTPS. Some providers load no images; their models are not chosen for such a request. */
  | { readonly url: string }

/** Message of a request. Only messages of users may have images, which belong to the text. */
export type InferenceMessage = ChatMessage & { readonly images?: readonly ChatImage[] }

/** Limits that all providers accept. A request of 14 MiB of images stays below 20 MB in base64. */
export const MAX_IMAGES = 20
export const MAX_IMAGE_BYTES = 5 * 1_048_576
export const MAX_IMAGES_BYTES = 14 * 1_048_576

const MAX_URL_CHARACTERS = 8_192
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Base64 characters of the bytes that identify a media type. */
const HEAD_CHARACTERS = 16

type Place = (message: string) => Error

/** Returns the images of a request; empty for a prompt, which has none. */
export function imagesOf({
  messages,
  prompt
}: Pick<InferenceChatRequest, 'messages' | 'prompt'>): readonly ChatImage[] {
  return prompt === undefined ? messages.flatMap(({ images = [] }) => images) : []
}

/**
 * Checks the images of a request before it is sent. Throws `ICL_IMAGE_INVALID` for a message that is not a user's, a
 * content that is not base64 of its media type, an address other than HTTPS, and more than the limits.
 */
export function checkImages({ messages, prompt }: Pick<InferenceChatRequest, 'messages' | 'prompt'>): void {
  let count = 0
  let total = 0
  for (const [at, { role, images = [] }] of messages.entries()) {
    if (images.length === 0) continue
    if (prompt !== undefined) throw invalid('a prompt takes no images; send the text as a message')
    if (role !== 'user') throw invalid(`messages[${at}]: only a message of a user takes images, not one of the ${role}`)
    count += images.length
    if (count > MAX_IMAGES) throw invalid(`the request has more than ${MAX_IMAGES} images`)
    for (const [index, image] of images.entries()) {
      const path = `messages[${at}].images[${index}]`
      total += checkImage(image, problem => invalid(`${path}: ${problem}`))
      if (total > MAX_IMAGES_BYTES)
        throw invalid(`the images of the request have more than ${MAX_IMAGES_BYTES} bytes together`)
    }
  }
}

/**
 * Returns an image from base64. Throws `ICL_IMAGE_INVALID`, naming `source`, if it is not base64, too large, or of another
 * type than PNG, JPEG, GIF and WebP.
 */
export function imageOf(data: string, source: string): ChatImage {
  const fail: Place = problem => invalid(`${source}: ${problem}`)
  const mediaType = imageTypeOf(data)
  if (mediaType === null) throw fail('it is not a PNG, JPEG, GIF or WebP image')
  const image = { mediaType, data }
  checkImage(image, fail)
  return image
}

/** Returns the bytes of an image; 0 for an address. */
function checkImage(image: ChatImage, fail: Place): number {
  if ('url' in image) {
    const isHttps =
      image.url.length <= MAX_URL_CHARACTERS && URL.canParse(image.url) && new URL(image.url).protocol === 'https:'
    if (!isHttps) throw fail(`its address is not an HTTPS URL of at most ${MAX_URL_CHARACTERS} characters`)
    return 0
  }
  const { data, mediaType } = image
  const bytes = Math.floor((data.length * 3) / 4)
  if (bytes > MAX_IMAGE_BYTES + 2) throw fail(`it has more than ${MAX_IMAGE_BYTES} bytes; reduce its size`)
  if (data.length % 4 !== 0 || !BASE64.test(data)) throw fail('its content is not base64')
  const found = imageTypeOf(data)
  if (found !== mediaType) throw fail(`its content is ${found ?? 'no known image'}, not ${mediaType}`)
  return bytes
}

/** Returns the media type by the first bytes of base64; null for another file. */
function imageTypeOf(data: string): ImageType | null {
  const head = Buffer.from(data.slice(0, HEAD_CHARACTERS), 'base64').toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(head)) return 'image/gif'
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : null
}

function invalid(message: string): Error {
  return inferenceErrors.create('ICL_IMAGE_INVALID', message, {
    hint: `at most ${MAX_IMAGES} images, ${MAX_IMAGE_BYTES} bytes each: PNG, JPEG, GIF or WebP in base64, or HTTPS URLs`
  })
}
