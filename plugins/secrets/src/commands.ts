import { join, resolve } from 'node:path'
import { SECRET_PROFILES } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import { type DoctorContext, type DoctorInput, examine } from './doctor.ts'
import { doctorText } from './doctor-text.ts'
import { readEnvFile } from './env-file.ts'
import { commandErrors } from './errors.ts'
import { keyOf, vaultOf } from './handlers.ts'
import { readSecret } from './input.ts'
import { writeMeshEnv } from './mesh-env.ts'
import { doctorFields, secretName } from './operations.ts'
import { redact } from './redact.ts'
import { isMeshSecret, refusal, type Secrets } from './secrets.ts'
import { migrateAuthStore, STORES, type Stored, type StoreRequest, storeSecret, vaultFor } from './store.ts'

const file = t.optional(
  t.string({ minLength: 1, description: 'File with the value; default: a prompt, or standard input' })
)
const username = t.optional(t.string({ minLength: 1, description: 'User name at the registry' }))
const BY = 'cli'

const doctorInput = t.object({
  ...doctorFields,
  format: t.enum(['human', 'json-v1'], { default: 'human', description: 'Format of the report' })
})

export const doctorCommand = {
  command: 'secrets doctor',
  summary: 'Check the declared secrets and the requirements of a workflow',
  input: doctorInput,
  ownFlags: ['profile']
} as const satisfies CommandDescriptor

export const statusCommand = {
  command: 'secrets status',
  summary: 'Show the state of the declared secrets, like doctor',
  input: doctorInput,
  ownFlags: ['profile']
} as const satisfies CommandDescriptor

export const loginCommand = {
  command: 'secrets login',
  summary: 'Store the token of a registry, which is entered at a prompt',
  input: t.object({ registry: t.string({ minLength: 1, description: 'Name of the registry' }), username, file }),
  args: ['registry']
} as const satisfies CommandDescriptor

export const setCommand = {
  command: 'secrets set',
  summary: 'Store a secret, which is entered at a prompt',
  input: t.object({
    name: secretName,
    store: t.enum(STORES, { default: 'auto', description: 'Place; auto: the selected backend, else the keyring' }),
    username,
    override: t.optional(
      t.enum(SECRET_PROFILES, { description: 'Profile that uses this value instead of the canonical one; vault only' })
    ),
    file
  }),
  args: ['name']
} as const satisfies CommandDescriptor

export const getCommand = {
  command: 'secrets get',
  summary: 'Show where a secret comes from, or print it',
  input: t.object({
    name: secretName,
    reveal: t.boolean({ default: false, description: 'Print only the value, on standard output' })
  }),
  args: ['name']
} as const satisfies CommandDescriptor

export const rotateCommand = {
  command: 'secrets rotate',
  summary: 'Replace a secret of the vault by a new value',
  input: t.object({ name: secretName, file }),
  args: ['name']
} as const satisfies CommandDescriptor

export const importCommand = {
  command: 'secrets import-env',
  summary: 'Store the declared secrets of a .env file in the vault',
  input: t.object({
    file: t.string({ default: '.env', minLength: 1, description: 'File with lines KEY=value' }),
    dry_run: t.boolean({ default: false, description: 'Only show what would be stored' })
  })
} as const satisfies CommandDescriptor

export const migrateCommand = {
  command: 'secrets migrate-auth-store',
  summary: 'Move plain tokens of the auth file to the keyring',
  input: t.object({})
} as const satisfies CommandDescriptor

export const syncCommand = {
  command: 'secrets sync',
  summary: 'Write secrets to the file from which other programs read them',
  input: t.object({ mesh: t.boolean({ default: false, description: 'Write the secrets of the mesh' }) })
} as const satisfies CommandDescriptor

export const commands = [
  doctorCommand,
  statusCommand,
  loginCommand,
  setCommand,
  getCommand,
  rotateCommand,
  importCommand,
  migrateCommand,
  syncCommand
]

/** Returns the handler of `svc secrets doctor` and `status`. The exit code is 1 if a blocking requirement is not met. */
export function runDoctor(context: (by: string, signal: AbortSignal) => DoctorContext): CommandHandler {
  return async (input, io) => {
    const { workflow = 'chat', mode = 'auto', ...rest } = input as Partial<DoctorInput>
    const result = await examine({ workflow, mode, ...rest }, context(BY, io.signal))
    const asJson = io.json || input.format === 'json-v1'
    io.stdout.write(`${asJson ? JSON.stringify(result.report, null, 2) : doctorText(result)}\n`)
    return result.healthy ? 0 : 1
  }
}

export function runLogin(secrets: Secrets): CommandHandler {
  return async (input, io) => {
    const { registry, username, file } = input as { registry: string; username?: string; file?: string }
    const value = await readSecret(io, `token for ${registry}`, file)
    const stored = await storeSecret(secrets, {
      ...{ name: registry, value, store: 'auto', by: BY },
      ...(username === undefined ? {} : { username })
    })
    io.stdout.write(io.json ? line(stored) : `stored the token for ${registry} in the ${placeOf(stored.store)}\n`)
    if (!io.json) showUses(secrets, registry, io)
  }
}

export function runSet(secrets: Secrets): CommandHandler {
  return async (input, io) => {
    const { name, store = 'auto', file, ...rest } = input as unknown as SetInput
    const value = await readSecret(io, `value of ${name}`, file)
    const stored = await storeSecret(secrets, { name, value, store, by: BY, ...rest })
    const version = stored.version === undefined ? '' : `, version ${stored.version}`
    const profile = rest.override === undefined ? '' : `, for the profile ${rest.override}`
    io.stdout.write(
      io.json ? line(stored) : `stored ${stored.name} in the ${placeOf(stored.store)}${version}${profile}\n`
    )
    if (!io.json) showUses(secrets, name, io)
  }
}

function placeOf(store: Stored['store']): string {
  return store === 'auth' ? 'auth file' : store
}

/** Prints how settings use a stored secret, since storing it changes no setting. */
function showUses(secrets: Secrets, name: string, io: CommandIo): void {
  const secret = secrets.catalog().find(name)
  const uses = secret === undefined ? [] : secrets.usesOf(secret)
  if (uses.length > 0) io.stdout.write(`to use it, run: ${uses.join('\n                ')}\n`)
}

type SetInput = Pick<StoreRequest, 'name' | 'username' | 'override'> & {
  readonly store?: StoreRequest['store']
  readonly file?: string
}

export function runGet(secrets: Secrets): CommandHandler {
  return async (input, io) => {
    const { name, reveal = false } = input as { name: string; reveal?: boolean }
    const secret = secrets.catalog().get(name)
    const { resolve } = await secrets.open(BY)
    const { finding, value } = await resolve(secret, io.signal)
    if (reveal) {
      if (value === undefined) throw refusal(secret, finding)
      io.stdout.write(io.json ? line({ id: secret.id, value }) : `${value}\n`)
      return 0
    }
    const shown = { ...finding, canonical_env: secret.env, redacted_value: redact(value) }
    if (io.json) io.stdout.write(line(shown))
    else {
      const from = finding.source === null ? '' : ` from ${finding.source} (${finding.place})`
      io.stdout.write(`${secret.id}: ${finding.status}${from}, ${shown.redacted_value}\n`)
      if (finding.detail !== null) io.stdout.write(`  ${finding.detail}\n`)
      if (value === undefined) io.stdout.write(`  ${secret.remediation}\n`)
    }
    return value === undefined ? 1 : 0
  }
}

export function runRotate(secrets: Secrets): CommandHandler {
  return async (input, io) => {
    const { name, file } = input as { name: string; file?: string }
    const { id, key } = keyOf(secrets, name)
    const vault = vaultOf(secrets)
    if (!(await vault.keys()).includes(key))
      throw commandErrors.create('SCR_NOT_STORABLE', `the vault has no ${id} to replace`, {
        hint: `svc secrets set ${id} --store vault stores it`
      })
    const value = await readSecret(io, `new value of ${id}`, file)
    const version = await vault.set(key, value, { by: BY, operation: 'rotate' })
    io.stdout.write(io.json ? line({ name: id, version }) : `${id} has version ${version}\n`)
  }
}

export function runImport(secrets: Secrets, projectRoot: string): CommandHandler {
  return async (input, io) => {
    const { file = '.env', dry_run: isDry = false } = input as { file?: string; dry_run?: boolean }
    const path = resolve(projectRoot, file)
    const values = readEnvFile(path)
    if (values === null)
      throw commandErrors.create('SCR_FILE_INVALID', `${path} does not exist`, {
        at: { file: path },
        hint: 'name it with --file'
      })
    const catalog = secrets.catalog()
    vaultOf(secrets)
    const rows: { readonly name: string; readonly id: string | null; readonly state: string }[] = []
    for (const [name, value] of values) {
      const secret = catalog.find(name)
      const skipped = secret === undefined ? 'not a declared secret' : value.trim() === '' ? 'empty' : null
      if (skipped !== null || secret === undefined) {
        rows.push({ name, id: secret?.id ?? null, state: `left out: ${skipped}` })
        continue
      }
      try {
        const vault = await vaultFor(secrets, secret)
        if (!isDry) await vault.set(secret.backendKey ?? secret.env, value, { by: BY, operation: 'import' })
        rows.push({ name, id: secret.id, state: isDry ? 'would be stored' : 'stored' })
      } catch (error) {
        if (!isSvcError(error, 'SCR_NOT_STORABLE')) throw error
        rows.push({ name, id: secret.id, state: `left out: ${error.message}` })
      }
    }
    if (io.json) io.stdout.write(line({ file: path, dry_run: isDry, variables: rows }))
    else {
      for (const { name, state } of rows) io.stdout.write(`${name}: ${state}\n`)
      if (rows.length === 0) io.stdout.write(`${path} sets no variable\n`)
    }
  }
}

export function runMigrate(secrets: Secrets): CommandHandler {
  return async (_input, io) => {
    const moved = await migrateAuthStore(secrets)
    const place = (await secrets.options.keyring?.status())?.place ?? 'the keyring'
    if (io.json) io.stdout.write(line({ moved, place }))
    else if (moved.length === 0)
      io.stdout.write(`no token to move: ${secrets.options.authFile.path} has no plain one\n`)
    else io.stdout.write(`moved the tokens of ${moved.join(', ')} to ${place}\n`)
  }
}

export function runSync(secrets: Secrets, projectRoot: string): CommandHandler {
  return async (input, io) => {
    if (input.mesh !== true)
      throw commandErrors.create('SCR_NOTHING_CHOSEN', 'svc secrets sync needs the option --mesh', {
        hint: 'svc secrets sync --mesh writes the secrets of the mesh'
      })
    const target = join(projectRoot, '.vox', 'populi', 'mesh.env')
    // The file itself is left out: otherwise a removed secret would be written back for ever.
    const { resolve: find } = await secrets.open(BY, secrets.policy, { mesh: false })
    const values = new Map<string, string>()
    for (const secret of secrets.catalog().secrets.filter(isMeshSecret)) {
      const { value } = await find(secret, io.signal)
      if (value !== undefined) values.set(secret.env, value)
    }
    if (values.size > 0) await writeMeshEnv(target, values)
    const names = [...values.keys()]
    if (io.json) io.stdout.write(line({ file: target, variables: names }))
    else if (names.length === 0) io.stdout.write('no secret of a mesh is stored or set; nothing was written\n')
    else io.stdout.write(`wrote ${names.join(', ')} to ${target}\n`)
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
