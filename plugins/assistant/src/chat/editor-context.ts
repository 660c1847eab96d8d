import { type FileRead, readProjectFile } from '@svc/contracts'
import type { InputOf } from '@svc/plugin-sdk'
import type { Material } from './material.ts'
import type { chat } from './operation.ts'

const FILE_BYTES = 262_144
/** Lines of the active file to show before and after the current line. */
const AROUND = 60

type Input = Pick<
  InputOf<typeof chat>,
  'context_files' | 'open_files' | 'active_file' | 'active_line' | 'selected_text' | 'diagnostics'
>

export interface EditorContext {
  readonly materials: readonly Material[]
  /** Requested files without duplicates, with the reason for unread ones. */
  readonly files: readonly FileRead[]
}

/**
 * Returns the editor's context for the model, most relevant first: selection, findings, active file, named files, and the
 * names of open files.
 */
export async function editorContext(projectRoot: string, input: Input, maxBytes: number): Promise<EditorContext> {
  const { active_file, active_line, selected_text = '', diagnostics } = input
  const names = [...new Set([...(active_file === undefined ? [] : [active_file]), ...input.context_files])]
  const files: FileRead[] = []
  for (const name of names) files.push(await readProjectFile(projectRoot, name, Math.min(maxBytes, FILE_BYTES)))
  const findings = typeof diagnostics === 'string' ? diagnostics : JSON.stringify(diagnostics ?? [])
  const materials: Material[] = []
  if (selected_text !== '') materials.push({ label: 'selection in the editor', text: selected_text })
  if (findings !== '' && findings !== '[]') materials.push({ label: 'diagnostics', text: findings })
  for (const [index, file] of files.entries()) {
    if (!('text' in file)) continue
    const isActive = names[index] === active_file && active_line !== undefined
    materials.push(isActive ? around(file, active_line) : { label: file.path, text: file.text })
  }
  if (input.open_files.length > 0) materials.push({ label: 'open files', text: input.open_files.join('\n') })
  return { materials, files }
}

function around({ path, text }: { readonly path: string; readonly text: string }, line: number): Material {
  const from = Math.max(1, line - AROUND)
  const lines = text.split('\n').slice(from - 1, line + AROUND)
  return { label: `${path}:${from}`, text: lines.join('\n') }
}
