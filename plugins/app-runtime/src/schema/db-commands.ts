import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseStore, LanguageCompiler, Program } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import { compiled, tellFailure } from '../run-command.ts'
import { compareSchema, migrateSchema, type SchemaOptions } from './migrate.ts'
import { levelOf, type SchemaPlan } from './plan.ts'
import { planText } from './plan-text.ts'
import { readRenames } from './read-renames.ts'

const rename = t.array(t.string(), {
  default: [],
  description: 'A new name that keeps what is there: Note.title=heading for a column, Note=Memo for a table.'
})
const file = t.string({ minLength: 1, description: 'The source file.' })

export const diffCommand: CommandDescriptor = {
  command: 'db diff',
  summary: 'Tell what of the tables of a program the database does not have as they are declared',
  input: t.object({
    file,
    force: t.boolean({ default: false, description: 'Count tables that are no longer declared as differences.' }),
    rename,
    sql: t.boolean({ default: false, description: 'Print the statements that would be run.' })
  }),
  args: ['file']
}

export const migrateCommand: CommandDescriptor = {
  command: 'db migrate',
  summary: 'Make the database have the tables that a program declares',
  input: t.object({
    file,
    force: t.boolean({ default: false, description: 'Do what loses something, too, after the database was copied.' }),
    rename,
    'dry-run': t.boolean({ default: false, description: 'Change nothing; tell what would be done.' })
  }),
  args: ['file']
}

export interface SchemaCommandOptions {
  readonly compiler: LanguageCompiler
  readonly store: DatabaseStore
  readonly projectRoot: string
  /** Folder for copies. */
  readonly copies: () => Promise<string>
}

interface Given {
  readonly file: string
  readonly force?: boolean
  readonly rename?: readonly string[]
  readonly sql?: boolean
  readonly 'dry-run'?: boolean
}

/** Exit codes as those of diff: 0 without a difference, 1 with one, 2 where that could not be found out. */
export function diffSchema(options: SchemaCommandOptions): CommandHandler {
  return async (given, io) => {
    const { sql = false, ...input } = given as unknown as Given
    return withProgram(options, input, io, 2, async (program, schemaOptions) => {
      const plan = await compareSchema(options.store, program, schemaOptions)
      const level = levelOf(plan)
      if (io.json) writeJson(io, { ...facts(options, plan), statements: statementsOf(plan) })
      else {
        const none =
          level === null ? `${plan.program}: ${options.store.location} has its tables as they are declared\n` : ''
        const lines = plan.steps.length === 0 ? '' : `${plan.program}: ${options.store.location}\n${planText(plan)}\n`
        io.stdout.write(`${lines}${none}${notesText(plan.notes)}`)
        if (sql)
          io.stdout.write(
            statementsOf(plan)
              .map(each => `${each};\n`)
              .join('')
          )
      }
      return level === null ? 0 : 1
    })
  }
}

/** Exit codes: 0 when the database has the tables; 1 when it has not, and with `--dry-run` when it would not. */
export function applySchema(options: SchemaCommandOptions): CommandHandler {
  return async (given, io) => {
    const { 'dry-run': isDry = false, ...input } = given as unknown as Given
    return withProgram(options, input, io, 1, async (program, schemaOptions) => {
      if (isDry) {
        const plan = await compareSchema(options.store, program, schemaOptions)
        const level = levelOf(plan)
        if (io.json) writeJson(io, { ...facts(options, plan), applied: false, copy: null })
        else io.stdout.write(`${plan.steps.length === 0 ? 'nothing to do' : planText(plan)}\n${notesText(plan.notes)}`)
        return level === 'refused' || (level === 'lossy' && input.force !== true) ? 1 : 0
      }
      const { plan, copy, notes } = await migrateSchema(options.store, program, schemaOptions)
      if (io.json) writeJson(io, { ...facts(options, { ...plan, notes }), applied: true, copy })
      else {
        const kept = copy === null ? '' : `a copy of what was there is ${copy}\n`
        io.stdout.write(`${plan.steps.length === 0 ? 'nothing to do' : planText(plan)}\n${kept}${notesText(notes)}`)
      }
      return 0
    })
  }
}

async function withProgram(
  { compiler, projectRoot, copies }: SchemaCommandOptions,
  { file: path, force = false, rename: renames = [] }: Given,
  io: CommandIo,
  failed: number,
  run: (program: Program, options: SchemaOptions) => Promise<number>
): Promise<number> {
  const program = await compiled(compiler, path, false, io)
  if (program === null) return failed
  try {
    return await run(
      { ...program, path: resolve(program.path) },
      {
        projectRoot,
        force,
        renames: readRenames(renames),
        copyTo: async () => {
          const time = new Date().toISOString().replaceAll(/[:.]/g, '')
          const copy = join(await copies(), `before-${time}.db`)
          await mkdir(dirname(copy), { recursive: true })
          return copy
        }
      }
    )
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, message, hint = '' } = error
    tellFailure({ code, message, hint, calls: [] }, io)
    return failed
  }
}

function facts({ store }: SchemaCommandOptions, { program, steps, notes }: SchemaPlan) {
  const level = levelOf({ steps })
  return {
    program,
    database: store.location,
    level: level ?? 'none',
    steps: steps.map(({ wayOut, ...step }) => ({ ...step, way_out: wayOut })),
    notes
  }
}

function statementsOf({ statements }: SchemaPlan): string[] {
  return statements.flatMap(each => (typeof each === 'string' ? [each] : []))
}

function notesText(notes: readonly string[]): string {
  return notes.map(note => `note: ${note}\n`).join('')
}

function writeJson(io: CommandIo, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
