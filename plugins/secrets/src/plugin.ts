import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  declaredSecretResolver,
  declaredSecrets,
  kernelAdmin,
  kernelPort,
  secretBackend,
  secretErrors,
  secretKeyring,
  secretVault
} from '@svc/contracts'
import { definePlugin, isSvcError } from '@svc/plugin-sdk'
import { AuthFile, KEYRING_SENTINEL } from './auth-file.ts'
import {
  commands,
  doctorCommand,
  getCommand,
  importCommand,
  loginCommand,
  migrateCommand,
  rotateCommand,
  runDoctor,
  runGet,
  runImport,
  runLogin,
  runMigrate,
  runRotate,
  runSet,
  runSync,
  setCommand,
  statusCommand,
  syncCommand
} from './commands.ts'
import { SecretState } from './console/handlers.ts'
import { inboxOperation, SECRETS_TOPIC, summaryOperation } from './console/operations.ts'
import { contributeConsole } from './console/pages.ts'
import { Declarations } from './declarations.ts'
import type { DoctorContext } from './doctor.ts'
import {
  auditHandler,
  backendStatusHandler,
  delegateHandler,
  delegationsHandler,
  doctorHandler,
  readDelegatedHandler,
  removeOverrideHandler,
  revokeHandler,
  rewrapHandler,
  rollbackHandler,
  rotateDelegatedHandler,
  setHandler,
  versionsHandler
} from './handlers.ts'
import { findInMeshEnv, meshEnvFiles } from './mesh-env.ts'
import {
  auditOperation,
  backendStatusOperation,
  delegateOperation,
  delegationsOperation,
  doctorOperation,
  operations,
  readDelegatedOperation,
  removeOverrideOperation,
  revokeOperation,
  rewrapOperation,
  rollbackOperation,
  rotateDelegatedOperation,
  setOperation,
  versionsOperation
} from './operations.ts'
import { Secrets } from './secrets.ts'
import { type Settings, settings } from './settings.ts'

const auto = secretBackend('auto')
const authBackend = secretBackend('auth')
const meshBackend = secretBackend('mesh_env')

/** Interval in which an open console reads required secrets again. Each read of a vault is in its audit log. */
const LOOK_MS = 60_000

export default definePlugin({
  name: 'secrets',
  summary: 'Finds declared secrets in the environment, in backends and in files, and stores them',
  config: settings,
  requires: { kernel: kernelPort },
  optional: {
    admin: kernelAdmin,
    keyring: secretKeyring,
    vault: secretVault,
    hashicorp: secretBackend('vault'),
    infisical: secretBackend('infisical')
  },
  provides: [declaredSecretResolver, auto, authBackend, meshBackend],
  points: [declaredSecrets],
  operations: [...operations, summaryOperation, inboxOperation],
  commands,
  activate(ctx, { kernel, admin, keyring, vault, hashicorp, infisical }) {
    const config: Settings = ctx.config
    const home = homedir()
    const authFile = new AuthFile(
      config.auth_path === undefined ? join(home, '.vox', 'auth.json') : resolve(ctx.projectRoot, config.auth_path)
    )
    const meshFiles = meshEnvFiles({
      ...{ projectRoot: ctx.projectRoot, repositoryRoot: process.env.SVC_REPO_ROOT, cwd: process.cwd(), home }
    })
    const declarations = new Declarations(admin, ctx.log)
    ctx.follow(declaredSecrets, (items, plugins) => declarations.replace(items, plugins))
    const secrets = new Secrets({
      ...{ settings: config, admin, keyring, authFile, meshFiles, env: process.env },
      backends: { vault, hashicorp, infisical },
      declared: () => declarations.accepted(),
      now: Date.now
    })
    ctx.provide(declaredSecretResolver, secrets)
    ctx.provide(auto, { resolve: (name, signal) => withReference(`auto/${name}`, () => secrets.resolve(name, signal)) })
    ctx.provide(authBackend, { resolve: name => inAuthFile(authFile, name) })
    ctx.provide(meshBackend, { resolve: name => inMeshFile(meshFiles, name) })
    const context = (by: string, signal: AbortSignal): DoctorContext => ({
      ...{ secrets, projectRoot: ctx.projectRoot, by, signal },
      active: new Set(admin?.plugins().flatMap(({ name, state }) => (state === 'disabled' ? [] : [name])))
    })
    const state = new SecretState(
      secrets,
      by => context(by, ctx.signal),
      () => ctx.changed(SECRETS_TOPIC)
    )
    const changing =
      <A extends readonly unknown[], B>(handler: (...args: A) => B | Promise<B>) =>
      async (...args: A): Promise<B> => {
        try {
          return await handler(...args)
        } finally {
          state.changed()
        }
      }
    // Other processes store secrets as well: an open console looks again in intervals.
    const timer = setInterval(() => {
      if (kernel.topics.watched(SECRETS_TOPIC)) state.changed()
    }, LOOK_MS).unref()
    ctx.effect('secrets that other processes change', () => clearInterval(timer))
    ctx.implement(summaryOperation, state.summary())
    ctx.implement(inboxOperation, state.inbox())
    contributeConsole(ctx)
    ctx.implement(doctorOperation, doctorHandler(context))
    ctx.implement(backendStatusOperation, backendStatusHandler(secrets))
    ctx.implement(setOperation, changing(setHandler(secrets)))
    ctx.implement(versionsOperation, versionsHandler(secrets))
    ctx.implement(rollbackOperation, changing(rollbackHandler(secrets)))
    ctx.implement(rewrapOperation, rewrapHandler(secrets))
    ctx.implement(auditOperation, auditHandler(secrets))
    ctx.implement(removeOverrideOperation, changing(removeOverrideHandler(secrets)))
    ctx.implement(delegationsOperation, delegationsHandler(secrets))
    ctx.implement(delegateOperation, changing(delegateHandler(secrets)))
    ctx.implement(revokeOperation, changing(revokeHandler(secrets)))
    ctx.implement(readDelegatedOperation, readDelegatedHandler(secrets))
    ctx.implement(rotateDelegatedOperation, changing(rotateDelegatedHandler(secrets)))
    ctx.command(doctorCommand.command, runDoctor(context))
    ctx.command(statusCommand.command, runDoctor(context))
    ctx.command(loginCommand.command, runLogin(secrets))
    ctx.command(setCommand.command, runSet(secrets))
    ctx.command(getCommand.command, runGet(secrets))
    ctx.command(rotateCommand.command, runRotate(secrets))
    ctx.command(importCommand.command, runImport(secrets, ctx.projectRoot))
    ctx.command(migrateCommand.command, runMigrate(secrets))
    ctx.command(syncCommand.command, runSync(secrets, ctx.projectRoot))
  }
})

/** Backends report an unknown name as `SEC_NOT_FOUND`, and messages name the reference. */
async function withReference(reference: string, run: () => Promise<string>): Promise<string> {
  try {
    return await run()
  } catch (error) {
    if (!isSvcError(error, 'SEC_UNDECLARED')) throw error
    throw notFound(reference, error.message, error.hint)
  }
}

async function inAuthFile(file: AuthFile, name: string): Promise<string> {
  const token = file.entries().get(name)?.token
  if (token === undefined) throw notFound(`auth/${name}`, `${file.path} has no registry of that name`)
  if (token !== KEYRING_SENTINEL) return token
  throw notFound(`auth/${name}`, 'the token is in the keyring', `write secret://keyring/${name}`)
}

async function inMeshFile(files: readonly string[], name: string): Promise<string> {
  const found = findInMeshEnv([name], files)
  if (found !== null) return found.value
  throw notFound(`mesh_env/${name}`, `no file sets it: ${files.join(', ')}`)
}

function notFound(reference: string, why: string, hint = 'svc secrets status lists the declared secrets'): Error {
  return secretErrors.create('SEC_NOT_FOUND', `secret://${reference}: ${why}`, { hint })
}
