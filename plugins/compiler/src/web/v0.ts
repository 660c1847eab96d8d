import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { limitedSignal } from '@svc/plugin-sdk'
import { compilerErrors } from '../errors.ts'
import type { Module, Span } from '../syntax/ast.ts'
import type { EmittedFile } from '../typescript/emitted-file.ts'
import { itemsOf } from './web-module.ts'

/** Maximum size of a response, in bytes. */
const MAX_BYTES = 2_000_000

/**
 * Fetches the modules of components with `@v0 "ID"` from `baseUrl`. Skips paths for which `has` returns true. Throws
 * `CMP_V0_UNAVAILABLE` and `CMP_V0_INVALID`.
 */
export async function fetchV0Components(
  module: Module,
  baseUrl: string,
  has: (path: string) => boolean,
  signal: AbortSignal
): Promise<EmittedFile[]> {
  const files: EmittedFile[] = []
  for (const { name, source, fromFile } of itemsOf(module, 'V0')) {
    const path = `${name.text}.tsx`
    if (fromFile || has(path)) continue
    const url = `${baseUrl.replace(/\/+$/, '')}/${encodeURIComponent(source.value)}`
    const text = sourceOf(await get(url, signal), url)
    if (!exportsName(text, name.text)) {
      throw compilerErrors.create('CMP_V0_INVALID', `${url} does not export \`${name.text}\``, {
        hint: `give the component the name of its export, or write ${path} yourself; nothing was written`
      })
    }
    files.push({ path, text: text.endsWith('\n') ? text : `${text}\n` })
  }
  return files
}

/** Returns the `@v0` components whose module in `folder` is missing or does not export their name. */
export async function v0Problems(module: Module, folder: string): Promise<{ message: string; span: Span }[]> {
  const found: { message: string; span: Span }[] = []
  for (const { name } of itemsOf(module, 'V0')) {
    const path = join(folder, `${name.text}.tsx`)
    const text = await readFile(path, 'utf8').catch(() => null)
    if (text === null) found.push({ message: `${path} is missing`, span: name })
    else if (!exportsName(text, name.text)) {
      found.push({ message: `${path} does not export \`${name.text}\``, span: name })
    }
  }
  return found
}

/** True if a TypeScript module exports that name; a default export does not count. */
function exportsName(text: string, name: string): boolean {
  const declared = new RegExp(`^export\\s+(async\\s+)?(function|const|let|class)\\s+${name}\\b`, 'm')
  if (declared.test(text)) return true
  return [...text.matchAll(/^export\s*\{([^}]*)\}/gm)].some(([, list = '']) => {
    return list.split(',').some(
      entry =>
        entry
          .trim()
          .split(/\s+as\s+/)
          .at(-1) === name
    )
  })
}

async function get(url: string, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(url, { signal: limitedSignal(signal, 30_000) })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const parts: Uint8Array[] = []
    let size = 0
    for await (const part of response.body ?? []) {
      size += part.length
      if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`)
      parts.push(part)
    }
    return Buffer.concat(parts).toString('utf8')
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : cause
    throw compilerErrors.create('CMP_V0_UNAVAILABLE', `${url} cannot be fetched: ${String(reason)}`, {
      hint: 'check the network and SVC_V0_API_URL, or name a local file with `@v0 from`; nothing was written',
      cause
    })
  }
}

/** Returns the first file of a registry item, or the text itself if it is not a registry item. */
function sourceOf(text: string, url: string): string {
  if (!text.trimStart().startsWith('{')) return text
  let files: unknown
  try {
    files = (JSON.parse(text) as { readonly files?: unknown }).files
  } catch {
    return text
  }
  const contents = (Array.isArray(files) ? files : []).flatMap((file: { readonly content?: unknown }) => {
    return typeof file?.content === 'string' ? [file.content] : []
  })
  const [content] = contents
  if (content !== undefined) return content
  throw compilerErrors.create('CMP_V0_INVALID', `${url} is a registry item without a file`, {
    hint: 'check the ID after @v0; nothing was written'
  })
}
