import { randomBytes } from 'node:crypto'
import { isRecord, type RecordValue, type Value } from '../interpreter/value.ts'

/** Facts about a stored file. */
export interface FileInfo {
  readonly id: string
  readonly name: string
  readonly contentType: string
  readonly size: number
}

/** Bytes of an id. A client that knows an id may refer to the file, so it cannot be guessed. */
const ID_BYTES = 16

const ID = /^[0-9a-f]{32}$/

export function newFileId(): string {
  return randomBytes(ID_BYTES).toString('hex')
}

export function isFileId(text: string): boolean {
  return ID.test(text)
}

/** Characters of a file name that are kept. Longer names lose their middle. */
const MAX_NAME = 200

/** Returns the name of an uploaded file without folders and control characters. It can be part of an address. */
export function safeName(name: string): string {
  // Half of a character cannot be encoded.
  const last = (name.split(/[\\/]/).at(-1) ?? '').replace(/\p{Surrogate}/gu, '\ufffd')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  const clean = last.replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, '').trim()
  if (clean === '' || clean === '.' || clean === '..') return 'file'
  const characters = Array.from(clean)
  if (characters.length <= MAX_NAME) return clean
  return [...characters.slice(0, MAX_NAME - 20), ...characters.slice(-20)].join('')
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,60}$/

const OCTETS = 'application/octet-stream'

/** Returns a media type without parameters, in lower case. */
export function mediaType(type: string | undefined): string {
  const plain = (type ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return MEDIA_TYPE.test(plain) ? plain : OCTETS
}

/** Media types by file extension, for files that a program stores without a type. */
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip'
}

export function typeOfName(name: string): string {
  const extension = name.split('.').at(-1)?.toLowerCase() ?? ''
  return Object.hasOwn(TYPES, extension) ? (TYPES[extension] as string) : OCTETS
}

/** Returns a file as a value of the language. */
export function fileValue({ id, name, contentType, size }: FileInfo): RecordValue {
  return new Map<string, Value>([
    ['id', id],
    ['name', name],
    ['content_type', contentType],
    ['size', size]
  ])
}

/** Returns the id of a file; null if the value is no file. */
export function fileIdOf(value: Value): string | null {
  const id = isRecord(value) ? value.get('id') : undefined
  return typeof id === 'string' && isFileId(id) ? id : null
}
