import { existsSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import type { DatabaseStore, Program } from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { desiredSchema } from './desired-schema.ts'
import { levelOf, type Renames, type SchemaPlan } from './plan.ts'
import { type PlanOptions, planSchema } from './plan-schema.ts'
import { createdStatements } from './plan-table.ts'
import { planText } from './plan-text.ts'
import { changesStatements } from './triggers.ts'

/** A table of many rows takes its time. */
const TRANSACTION_TIMEOUT_MS = 3_600_000

export interface SchemaOptions {
  readonly projectRoot: string
  /** Do what loses something, too, after a copy was made of a database that outlives the process. */
  readonly force?: boolean
  readonly renames?: Renames
  /** Where a copy goes; asked only where one is made. */
  readonly copyTo?: () => Promise<string>
}

export interface SchemaOutcome {
  readonly plan: SchemaPlan
  /** Where the database was copied before something was lost; null where nothing was. */
  readonly copy: string | null
  /** Warnings about unsupported parts. */
  readonly notes: readonly string[]
}

/** Changes that would create the declared tables of the program. */
export async function compareSchema(
  store: DatabaseStore,
  program: Program,
  options: SchemaOptions
): Promise<SchemaPlan> {
  const desired = desiredSchema(program, await store.capabilities())
  return planSchema(store, desired, planOptions(program, options))
}

/**
 * Makes the database have the tables that the program declares, in one transaction. To be done last, before the program
 * serves: the one before it goes on with the new tables. Throws `RUN_SCHEMA_LOSSY` for what would lose something where it is
 * not forced, `RUN_SCHEMA_REFUSED` for what cannot be done, both with the plan as text, and what the store throws.
 */
export async function migrateSchema(
  store: DatabaseStore,
  program: Program,
  options: SchemaOptions
): Promise<SchemaOutcome> {
  const capabilities = await store.capabilities()
  const desired = desiredSchema(program, capabilities)
  const asked = planOptions(program, options)
  const first = await planSchema(store, desired, asked)
  const notes = capabilities.durable ? first.notes : [...first.notes, ...transientNotes(store, program)]
  assertAllowed(store, first, asked.force)
  if (first.statements.length === 0) return { plan: first, copy: null, notes }
  const copy =
    levelOf(first) === 'lossy' && capabilities.durable ? await copyOf(store, options, capabilities.backup) : null
  const plan = await store.transaction(
    async tx => {
      // Others may have changed the database in the meantime; from here on they wait.
      const now = await planSchema(tx, desired, asked)
      assertAllowed(store, now, asked.force && (copy !== null || !capabilities.durable))
      for (const statement of now.statements) {
        const { sql, parameters } = typeof statement === 'string' ? { sql: statement, parameters: [] } : statement
        await tx.execute(sql, parameters).catch(error => {
          throw explained(error, store, now)
        })
      }
      return now
    },
    { timeoutMs: TRANSACTION_TIMEOUT_MS }
  )
  return { plan, copy, notes }
}

/**
 * Statements that make the tables of a program in a database that has nothing, such as that of a test. Throws
 * `RUN_SCHEMA_REFUSED`.
 */
export function freshSchema(
  program: Program,
  capabilities: { readonly fts: boolean; readonly vector: boolean }
): string[] {
  const { tables, isLive, problems } = desiredSchema(program, capabilities)
  if (problems.length > 0) throw runErrors.create('RUN_SCHEMA_REFUSED', `${program.path}: ${problems.join('; ')}`)
  return [...(isLive ? changesStatements : []), ...tables.flatMap(createdStatements)]
}

function planOptions(
  { path }: Program,
  { projectRoot, force = false, renames }: SchemaOptions
): PlanOptions & { readonly force: boolean } {
  return {
    // As people gave it, which is from where they are.
    program: relative(projectRoot, resolve(path)).split(sep).join('/'),
    force,
    ...defined({ renames }),
    isProgram: other => existsSync(resolve(projectRoot, other))
  }
}

function transientNotes({ location }: DatabaseStore, { module }: Program): string[] {
  if (module.tables.length === 0) return []
  return [`the database ${location} ends with the process, and with it all rows of the program's tables`]
}

function assertAllowed({ location }: DatabaseStore, plan: SchemaPlan, force: boolean): void {
  const level = levelOf(plan)
  if (level === 'refused')
    throw runErrors.create(
      'RUN_SCHEMA_REFUSED',
      `${location} cannot have the tables of ${plan.program}:\n${planText(plan)}`,
      {
        hint: 'nothing was changed; see what each line proposes',
        data: { steps: plan.steps }
      }
    )
  if (level === 'lossy' && !force)
    throw runErrors.create(
      'RUN_SCHEMA_LOSSY',
      `${location} would lose something by ${plan.program}:\n${planText(plan)}`,
      {
        hint: `nothing was changed; svc db migrate ${plan.program} --force does it, after a copy`,
        data: { steps: plan.steps }
      }
    )
}

/** A table cannot be rebuilt while a foreign view or trigger names it: SQLite checks all of them. */
function explained(error: unknown, { location }: DatabaseStore, { program }: SchemaPlan): unknown {
  const [, kind, name] = (isSvcError(error) && /error in (view|trigger) (\S+?):? /.exec(error.message)) || []
  if (kind === undefined || name === undefined) return error
  const message = `${location} cannot have the tables of ${program}: the ${kind} ${name} refers to one that has to be rebuilt`
  return runErrors.create('RUN_SCHEMA_REFUSED', message, {
    cause: error,
    hint: `nothing was changed; drop the ${kind} ${name}, and make it again afterwards`
  })
}

async function copyOf(store: DatabaseStore, { copyTo }: SchemaOptions, canCopy: boolean): Promise<string | null> {
  if (!canCopy || copyTo === undefined)
    throw runErrors.create(
      'RUN_SCHEMA_REFUSED',
      `${store.location} cannot be copied from here, and would lose something`,
      {
        hint: 'make a copy where the database lives, and change it there'
      }
    )
  const file = await copyTo()
  await store.backup(file)
  return file
}
