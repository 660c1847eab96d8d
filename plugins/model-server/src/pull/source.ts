import { basename } from 'node:path'
import { isLoopback } from '@svc/contracts'
import { checkModelName } from '../catalogue/model-name.ts'
import { errors } from '../errors.ts'
import { shownName } from '../shown-name.ts'

/** Place that a model is pulled from. */
export type PullSource =
  | { readonly kind: 'huggingface'; readonly repository: string; readonly quantization: string | null }
  | { readonly kind: 'ollama'; readonly repository: string; readonly tag: string }
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'file'; readonly path: string }

export interface NamedSource {
  readonly source: PullSource
  /** Name that the model gets: the one that the caller has chosen, or one from the source. */
  readonly name: string
}

const PART = '[A-Za-z0-9][A-Za-z0-9._-]{0,95}'
const huggingFace = new RegExp(`^(?:(?:hf\\.co|huggingface\\.co)/)?(${PART}/${PART})(?::(${PART}))?$`)
const ollama = new RegExp(`^(?:(?:ollama\\.com|registry\\.ollama\\.ai)/)?((?:${PART}/)?${PART})(?::(${PART}))?$`)
const URL_START = /^https?:\/\//i
const OLLAMA_HOST = /^(ollama\.com|registry\.ollama\.ai)\//

/**
 * Reads what the user wants to pull:
 *
 * - `org/model`, `hf.co/org/model:Q4_0`: a repository of Hugging Face, with the quantisation of a GGUF file.
 * - `llama3.2`, `llama3.2:1b`, `ollama.com/user/model:tag`: a model of the Ollama registry.
 * - `https://host/model.gguf`: a GGUF file. `http` only for this machine.
 * - `./model.gguf`, `/models/run`: a GGUF file or a run directory on this machine.
 *
 * `as` is the name that the caller has chosen. Throws `MSV_PULL_NAME`, `MSV_MODEL_NAME`.
 */
export function parseSource(text: string, as?: string): NamedSource {
  if (as !== undefined) checkModelName(as)
  if (URL_START.test(text)) return urlSource(text, as)
  if (/^(\.{0,2}\/|~\/|\.{1,2}$|[A-Za-z]:\\)/.test(text)) return fileSource(text, as)
  const found = OLLAMA_HOST.test(text) ? null : huggingFace.exec(text)
  const [, repository, quantization] = found ?? []
  if (repository !== undefined) {
    return named(as ?? text, { kind: 'huggingface', repository, quantization: quantization ?? null })
  }
  const [, model, tag = 'latest'] = ollama.exec(text) ?? []
  if (model === undefined) throw wrongName(text, 'it is neither a model name, nor a URL or path')
  return named(as ?? text, { kind: 'ollama', repository: model.includes('/') ? model : `library/${model}`, tag })
}

/** Returns a source for messages and records: a URL without its query, which may hold a signature. */
export function shownSource(text: string): string {
  return URL_START.test(text) ? text.replace(/[?#].*$/s, '') : text
}

function named(name: string, source: PullSource): NamedSource {
  checkModelName(name)
  return { source, name }
}

function urlSource(text: string, as: string | undefined): NamedSource {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw wrongName(text, 'the URL is invalid')
  if (url.protocol !== 'https:' && !isLoopback(hostOf(url))) throw wrongName(text, 'the URL must begin with https://')
  if (url.username !== '' || url.password !== '') throw wrongName(url.host, 'the URL must not contain a password')
  return { source: { kind: 'url', url }, name: as ?? nameOfFile(url.pathname, text) }
}

function fileSource(text: string, as: string | undefined): NamedSource {
  return { source: { kind: 'file', path: text }, name: as ?? nameOfFile(text, text) }
}

function nameOfFile(path: string, text: string): string {
  const name = basename(path).replace(/(?:-\d{5}-of-\d{5})?\.gguf$/i, '')
  try {
    checkModelName(name)
    return name
  } catch {
    throw wrongName(text, `${shownName(name)} cannot be the name of a model; choose one with --as`)
  }
}

function wrongName(text: string, reason: string): Error {
  return errors.create('MSV_PULL_NAME', `cannot pull ${shownName(shownSource(text))}: ${reason}`, {
    data: { param: 'model' },
    hint: 'Examples: org/model, hf.co/org/model:Q4_0, llama3.2:1b, https://host/model.gguf, ./model.gguf'
  })
}

/** Returns the host name of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
