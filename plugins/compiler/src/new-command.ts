import { lstat, rm, writeFile } from 'node:fs/promises'
import { basename, join, normalize, resolve } from 'node:path'
import { type CommandDescriptor, type CommandHandler, t } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { readOrReport } from './check-command.ts'
import { compilerErrors } from './errors.ts'
import { projectFiles } from './new/project-files.ts'
import { api } from './new/templates/api.ts'
import { chat } from './new/templates/chat.ts'
import { hello } from './new/templates/hello.ts'
import { web } from './new/templates/web.ts'
import type { EmittedFile } from './typescript/emitted-file.ts'

export const templates = { hello, api, chat, web } as const

type TemplateName = keyof typeof templates

export const newCommand: CommandDescriptor = {
  command: 'new',
  summary: 'Create a folder with a new program',
  input: t.object({
    name: t.string({ minLength: 1, description: 'Folder of the new program.' }),
    template: t.enum(Object.keys(templates) as [TemplateName, ...TemplateName[]], {
      default: 'hello',
      description: Object.entries(templates)
        .map(([name, { summary }]) => `${name}: ${summary}`)
        .join('. ')
    })
  }),
  args: ['name']
}

/**
 * Returns the command handler. Exit codes: 0; 1 if a file exists or the folder is not writable. A failed command
 * changes nothing.
 */
export function runNew(): CommandHandler {
  return async (rawInput, io) => {
    const { name, template = 'hello' } = rawInput as unknown as {
      readonly name: string
      readonly template?: TemplateName
    }
    const files = projectFiles(basename(resolve(name)), templates[template])
    const written = await readOrReport(() => writeNew(name, files), io)
    if (written === null) return 1
    const paths = files.map(({ path }) => path)
    if (io.json) io.stdout.write(`${JSON.stringify({ folder: name, template, written: paths }, null, 2)}\n`)
    else {
      for (const path of paths) io.stdout.write(`wrote ${join(name, path)}\n`)
      io.stderr.write(`next: cd ${shellWord(normalize(name))} && svc run app.vox\n`)
    }
    return 0
  }
}

/** Writes all files or none. Throws `CMP_PROJECT_EXISTS` and `CMP_FILE_UNWRITABLE`. */
async function writeNew(folder: string, files: readonly EmittedFile[]): Promise<true> {
  for (const { path } of files) {
    const filePath = join(folder, path)
    const isFree = await lstat(filePath).then(
      () => false,
      () => true
    )
    if (!isFree) throw exists(filePath)
  }
  const done: string[] = []
  try {
    makeFolder(folder)
    for (const { path, text } of files) {
      await writeFile(join(folder, path), text, { flag: 'wx' })
      done.push(join(folder, path))
    }
  } catch (cause) {
    for (const path of done) await rm(path, { force: true })
    const { code, message } = cause as { readonly code?: string; readonly message: string }
    if (code === 'EEXIST') throw exists(folder)
    throw compilerErrors.create('CMP_FILE_UNWRITABLE', `${folder} cannot be written: ${message}`, {
      hint: 'choose a writable folder; nothing was changed',
      at: { file: folder },
      cause
    })
  }
  return true
}

/** Quotes a path as one shell word. */
function shellWord(path: string): string {
  return /^[\w./@:,+%=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function exists(path: string): Error {
  return compilerErrors.create('CMP_PROJECT_EXISTS', `${path} already exists`, {
    hint: 'choose another folder; nothing was written',
    at: { file: path }
  })
}
