import type { LanguageCompiler } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { workspaceErrors } from './errors.ts'
import { readProjectFile } from './project-file.ts'
import { MAX_PROBLEMS, type Problem } from './syntax-problems.ts'
import { LANGUAGES, type Language, languageOf, validate } from './validate.ts'

const { WSP_FILE_REFUSED, WSP_LANGUAGE_UNKNOWN } = workspaceErrors.specs
const MAX_BYTES = 4_000_000
/** Each check of a long text has a thread or a process. */
const AT_ONCE = 4

const output = t.object({
  valid: t.boolean({ description: 'Whether there is no error; warnings may exist.' }),
  language: t.enum([...LANGUAGES]),
  path: t.nullable(t.string()),
  problems: t.array(
    t.object({
      line: t.nullable(t.integer(), { description: 'Counted from 1.' }),
      column: t.nullable(t.integer()),
      severity: t.enum(['error', 'warning']),
      message: t.string()
    }),
    { description: `At most ${MAX_PROBLEMS}.` }
  )
})

export const validateFile = defineOperation({
  id: 'workspace.validateFile',
  summary: 'Check the syntax of a file of the project',
  description: 'Checks vox with types, and JSON, TOML, YAML and JavaScript. Nothing of the file is run.',
  input: t.object({
    path: t.string({
      minLength: 1,
      maxLength: 4_096,
      description: 'Path relative to the project.',
      examples: ['svc.toml']
    })
  }),
  output,
  errors: { WSP_FILE_REFUSED, WSP_LANGUAGE_UNKNOWN },
  effect: 'read',
  concurrency: AT_ONCE,
  expose: {
    http: { method: 'GET', path: '/api/workspace/validate' },
    mcp: {
      name: 'svc_validate_file',
      result: 'tool-result',
      lane: 'app',
      toolsets: ['default', 'workspace'],
      use: 'After you wrote a file. A text that is not in a file: svc_validate_source.'
    },
    rpc: true,
    cli: {
      command: 'workspace validate',
      args: ['path'],
      view: { rows: 'problems', columns: ['line', 'column', 'severity', 'message'] }
    }
  }
})

export const validateSource = defineOperation({
  id: 'workspace.validateSource',
  summary: 'Check the syntax of a text in a given language',
  input: t.object({
    source: t.string({ maxLength: MAX_BYTES, description: 'The text to check.' }),
    language: t.enum([...LANGUAGES], { description: 'Language of the text.' })
  }),
  output,
  errors: { WSP_FILE_REFUSED, WSP_LANGUAGE_UNKNOWN },
  effect: 'read',
  concurrency: AT_ONCE,
  expose: {
    http: { method: 'POST', path: '/api/workspace/validate' },
    mcp: {
      name: 'svc_validate_source',
      result: 'tool-result',
      lane: 'app',
      toolsets: ['workspace'],
      use: 'Before you write a file. A file that exists: svc_validate_file.'
    },
    rpc: true
  }
})

type Compiler = LanguageCompiler | undefined

export function validateFileHandler(projectRoot: string, compiler: Compiler): Handler<typeof validateFile> {
  return async ({ path }, { signal }) => {
    const language = languageOf(path)
    const file = await readProjectFile(projectRoot, path, MAX_BYTES)
    const checkers = { compiler, signal }
    return answer(language, file.path, await validate(language, file.text, file.path, checkers))
  }
}

export function validateSourceHandler(compiler: Compiler): Handler<typeof validateSource> {
  return async ({ source, language }, { signal }) => {
    const checkers = { compiler, signal }
    return answer(language, null, await validate(language, source, `source.${language}`, checkers))
  }
}

function answer(language: Language, path: string | null, problems: readonly Problem[]) {
  const valid = problems.every(({ severity }) => severity !== 'error')
  return { valid, language, path, problems: problems.slice(0, MAX_PROBLEMS).map(each => ({ ...each })) }
}
