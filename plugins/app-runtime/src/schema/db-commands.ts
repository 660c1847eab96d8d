import { dirname, join, resolve } from 'node:path'
import type { DatabaseStore, LanguageCompiler, PrimaryDatabase, Program } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { openPlace } from '../database/job-database.ts'
import { compiled, reportFailure } from '../run-command.ts'
import { compareSchema, migrateSchema, type SchemaOptions } from './migrate.ts'
import { levelOf, type SchemaPlan } from './plan.ts'
import { planText } from './plan-text.ts'
import { readRenames } from './read-renames.ts'

const rename = t.array(t.string(), {
  default: [],
  description: 'A renamed column (Note.title=heading) or table (Note=Memo), whose data is kept.'
})
const database = t.optional(
  t.string({
    minLength: 1,
    description: 'The database file. Default: the setting database, else the primary database.'
  })
)
const file = t.string({ minLength: 1, description: 'The source file.' })

export const diffCommand: CommandDescriptor = {
  command: 'db diff',
  summary: "Show where the database differs from a program's declarations",
  input: t.object({
    file,
    force: t.boolean({ default: false, description: 'Count tables that are no longer declared as differences.' }),
    rename,
    database,
    sql: t.boolean({ default: false, description: 'Print the SQL statements.' })
  }),
  args: ['file']
}

export const migrateCommand: CommandDescriptor = {
  command: 'db migrate',
  summary: 'Migrate the database to the tables that a program declares',
  input: t.object({
    file,
    force: t.boolean({ default: false, description: 'Allow loss of data, after a copy of the database.' }),
    rename,
    database,
    'dry-run': t.boolean({ default: false, description: 'Change nothing; print the planned changes.' })
  }),
  args: ['file']
}

export interface SchemaCommandOptions {
  readonly compiler: LanguageCompiler
  readonly store: PrimaryDatabase
  readonly projectRoot: string
  /** The setting `database`: `memory`, or a file relative to the project; undefined for the primary database. */
  readonly database: () => string | undefined
  /** Folder for copies of databases, made before a lossy migration. */
  readonly copies: () => Promise<string>
}

interface DbCommandArguments {
  readonly file: string
  readonly force?: boolean
  readonly rename?: readonly string[]
  readonly database?: string
  readonly sql?: boolean
  readonly 'dry-run'?: boolean
}

/** Runs `db diff`. Exit codes: 0 without a difference, 1 with one, 2 if it cannot be computed. */
export function diffSchema(options: SchemaCommandOptions): CommandHandler {
  return async (args, io) => {
    const { sql = false, ...input } = args as unknown as DbCommandArguments
    return withProgram(options, input, io, 2, async (store, program, schemaOptions) => {
      const plan = await compareSchema(store, program, schemaOptions)
      const level = levelOf(plan)
      if (io.json) writeJson(io, { ...facts(store, plan), statements: statementsOf(plan) })
      else {
        const none = level === null ? `${plan.program}: ${store.location} matches the declared tables\n` : ''
        const lines = plan.steps.length === 0 ? '' : `${plan.program}: ${store.location}\n${planText(plan)}\n`
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

/** Runs `db migrate`. Exit codes: 0 if the tables are migrated, or with `--dry-run` could be; else 1. */
export function applySchema(options: SchemaCommandOptions): CommandHandler {
  return async (args, io) => {
    const { 'dry-run': isDry = false, ...input } = args as unknown as DbCommandArguments
    return withProgram(options, input, io, 1, async (store, program, schemaOptions) => {
      if (isDry) {
        const plan = await compareSchema(store, program, schemaOptions)
        const level = levelOf(plan)
        if (io.json) writeJson(io, { ...facts(store, plan), applied: false, copy: null })
        else io.stdout.write(`${plan.steps.length === 0 ? 'nothing to do' : planText(plan)}\n${notesText(plan.notes)}`)
        return level === 'refused' || (level === 'lossy' && input.force !== true) ? 1 : 0
      }
      const { plan, copy, notes } = await migrateSchema(store, program, schemaOptions)
      if (io.json) writeJson(io, { ...facts(store, { ...plan, notes }), applied: true, copy })
      else {
        const copyLine = copy === null ? '' : `the copy of the old database is ${copy}\n`
        io.stdout.write(`${plan.steps.length === 0 ? 'nothing to do' : planText(plan)}\n${copyLine}${notesText(notes)}`)
      }
      return 0
    })
  }
}

async function withProgram(
  options: SchemaCommandOptions,
  { file: path, force = false, rename: renames = [], database: place }: DbCommandArguments,
  io: CommandIo,
  failed: number,
  run: (store: DatabaseStore, program: Program, options: SchemaOptions) => Promise<number>
): Promise<number> {
  const program = await compiled(options.compiler, path, false, io)
  if (program === null) return failed
  let opened: DatabaseStore | null = null
  try {
    opened = await openNamed(options, place)
    return await run(opened ?? options.store, program, {
      projectRoot: options.projectRoot,
      force,
      renames: readRenames(renames),
      copyTo: () => copyName(options)
    })
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, message, hint = '' } = error
    reportFailure({ code, message, hint, calls: [] }, io)
    return failed
  } finally {
    await opened?.close()
  }
}

/** Opens the named database; null for the primary database, which the caller must not close. */
async function openNamed(
  { store, projectRoot, database: setting }: SchemaCommandOptions,
  place: string | undefined
): Promise<DatabaseStore | null> {
  if (place !== undefined) return openPlace(store, resolve(place))
  const named = setting()
  if (named === undefined) return null
  return openPlace(store, named === 'memory' ? named : resolve(projectRoot, named))
}

async function copyName({ copies }: SchemaCommandOptions): Promise<string> {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '')
  const copy = join(await copies(), `before-${time}.db`)
  makePrivateFolder(dirname(copy))
  return copy
}

function facts(store: DatabaseStore, { program, steps, notes }: SchemaPlan) {
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
