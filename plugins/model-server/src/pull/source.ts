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
  /** Name that the model gets unless the caller chooses another. */
  readonly name: string
}

const PART = '[A-Za-z0-9][A-Za-z0-9._-]{0,95}'
const huggingFace = new RegExp(`^(?:(?:hf\\.co|huggingface\\.co)/)?(${PART}/${PART})(?::(${PART}))?$`)
const ollama = new RegExp(`^(?:(?:ollama\\.com|registry\\.ollama\\.ai)/)?((?:${PART}/)?${PART})(?::(${PART}))?$`)
const OLLAMA_HOST = /^(ollama\.com|registry\.ollama\.ai)\//

/**
 * Reads what the user wants to pull:
 *
 * - `org/model`, `hf.co/org/model:Q4_0`: a repository of Hugging Face, with the quantisation of a GGUF file.
 * - `llama3.2`, `llama3.2:1b`, `ollama.com/user/model:tag`: a model of the Ollama registry.
 * - `https://host/model.gguf`: a GGUF file. `http` only for this machine.
 * - `./model.gguf`, `/models/run`: a GGUF file or a run directory on this machine.
 *
 * Throws `MSV_PULL_NAME`.
 */
export function parseSource(text: string): NamedSource {
  if (/^https?:\/\//i.test(text)) return urlSource(text)
  if (/^(\.{0,2}\/|~\/|\.{1,2}$|[A-Za-z]:\\)/.test(text)) return fileSource(text)
  const found = OLLAMA_HOST.test(text) ? null : huggingFace.exec(text)
  const [, repository, quantization] = found ?? []
  if (repository !== undefined) {
    return named(text, { kind: 'huggingface', repository, quantization: quantization ?? null })
  }
  const [, model, tag = 'latest'] = ollama.exec(text) ?? []
  if (model === undefined) throw wrongName(text, 'it is neither a model name, nor a URL or path')
  return named(text, { kind: 'ollama', repository: model.includes('/') ? model : `library/${model}`, tag })
}

function named(text: string, source: PullSource): NamedSource {
  checkModelName(text)
  return { source, name: text }
}

function urlSource(text: string): NamedSource {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw wrongName(text, 'the URL is invalid')
  if (url.protocol !== 'https:' && !isLoopback(hostOf(url))) throw wrongName(text, 'the URL must begin with https://')
  if (url.username !== '' || url.password !== '') throw wrongName(url.host, 'the URL must not contain a password')
  return { source: { kind: 'url', url }, name: nameOfFile(url.pathname, text) }
}

function fileSource(text: string): NamedSource {
  return { source: { kind: 'file', path: text }, name: nameOfFile(text, text) }
}

function nameOfFile(path: string, text: string): string {
  const name = basename(path).replace(/(?:-\d{5}-of-\d{5})?\.gguf$/i, '')
  try {
    checkModelName(name)
    return name
  } catch {
    throw wrongName(text, `'${shownName(name)}' cannot be the name of a model; choose one with --as`)
  }
}

function wrongName(text: string, reason: string): Error {
  return errors.create('MSV_PULL_NAME', `cannot pull ${shownName(text)}: ${reason}`, {
    data: { param: 'model' },
    hint: 'Examples: org/model, hf.co/org/model:Q4_0, llama3.2:1b, https://host/model.gguf, ./model.gguf'
  })
}

/** Returns the host name of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
