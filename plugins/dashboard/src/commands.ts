import { type DashboardRole, reservedStdout } from '@svc/contracts'
import { type CommandDescriptor, type CommandIo, errorMessage, type ServeInstead, t } from '@svc/plugin-sdk'
import { AddressFile, type ConsoleAddress } from './address.ts'
import { dashboardErrors } from './errors.ts'
import { OPERATIONS_PAGE } from './headers.ts'
import { canOpenBrowser, openBrowser } from './open-browser.ts'
import { SignInCodes } from './session/codes.ts'
import { ROLES } from './session/roles.ts'
import type { Session, Sessions } from './session/sessions.ts'
import type { OpenSetting } from './settings.ts'

export const dashboardCommand = {
  command: 'dashboard',
  summary: 'Open the console in the browser, signed in',
  input: t.object({
    role: t.enum(ROLES, { default: 'owner', description: 'Rights of the session' }),
    print: t.boolean({ default: false, description: 'Print the address instead of opening a browser' })
  })
} as const satisfies CommandDescriptor

export const upCommand = {
  command: 'up',
  summary: 'Serve this folder and open the console in the browser',
  input: t.object({
    open: t.boolean({ default: true, description: 'Open a browser; --no-open prints the address' })
  })
} as const satisfies CommandDescriptor

export const sessionsCommand = {
  command: 'dashboard sessions',
  summary: 'List the sessions of the console, or end one',
  input: t.object({
    revoke: t.optional(t.string({ minLength: 1, description: 'Id of the session to end' }))
  })
} as const satisfies CommandDescriptor

/** Time limit for the answer of the running server. */
const PROBE_MS = 3_000

/** Returns the handler of `svc dashboard`. `folder`: data folder of the plugin. */
export function runDashboard(folder: () => Promise<string>) {
  return async (input: Readonly<Record<string, unknown>>, io: CommandIo): Promise<void> => {
    const data = await folder()
    const address = new AddressFile(data).read()
    if (address === null || !(await answers(address))) throw notServed(address)
    const role = (input.role ?? 'owner') as DashboardRole
    await signIn(data, address, { role, print: input.print === true || !canOpenBrowser(io.stdout.isTTY === true) }, io)
  }
}

/**
 * Returns the handler of `svc up`: it opens the console of the server that runs already, or else serves and opens the
 * console then.
 */
export function runUp(folder: () => Promise<string>) {
  return async (input: Readonly<Record<string, unknown>>, io: CommandIo): Promise<ServeInstead | undefined> => {
    const data = await folder()
    const print = input.open === false || !canOpenBrowser(io.stdout.isTTY === true)
    const how = { role: 'owner', print } as const
    const running = new AddressFile(data).read()
    if (running !== null && (await answers(running))) {
      await signIn(data, running, how, io)
      return undefined
    }
    return { only: [], set: { 'plugins.dashboard.open': io.json ? 'json' : how.print ? 'print' : 'browser' } }
  }
}

/**
 * Opens the console that this process serves, as the setting `open` says. What fails is only reported, since the server
 * runs.
 */
export async function openOwn(data: string, open: OpenSetting): Promise<void> {
  const address = new AddressFile(data).read()
  if (open === 'no' || address === null) return
  const io = { stdout: reservedStdout(), stderr: process.stderr, json: open === 'json' }
  try {
    const print = open !== 'browser' || !canOpenBrowser(process.stdout.isTTY === true)
    await signIn(data, address, { role: 'owner', print }, io)
  } catch (error) {
    io.stderr.write(`the console was not opened: ${errorMessage(error)}; run svc dashboard\n`)
  }
}

type Output = Pick<CommandIo, 'json' | 'stderr' | 'stdout'>

interface SignIn {
  readonly role: DashboardRole
  /** True to print the address instead of opening a browser. */
  readonly print: boolean
}

/** Opens the console in the browser with a code that signs in, or prints the address. */
async function signIn(data: string, address: ConsoleAddress, { role, print }: SignIn, io: Output): Promise<void> {
  const { code, expires } = new SignInCodes(data).create(role)
  const origin = address.publicUrl ?? address.url
  const url = `${origin}/#code=${code}`
  if (io.json) {
    io.stdout.write(`${JSON.stringify({ url, role, expires: new Date(expires).toISOString() })}\n`)
    return
  }
  if (!print && (await openBrowser(url))) {
    io.stdout.write(`opened the console at ${origin}\n`)
    return
  }
  io.stdout.write(`${url}\n`)
  io.stderr.write('open this address within 60 seconds; it signs in one browser. svc dashboard makes another one\n')
}

/** Returns the handler of `svc dashboard sessions`. It works on the files, so that it needs no server. */
export function runSessions(open: () => Promise<Sessions>) {
  return async (input: Readonly<Record<string, unknown>>, io: CommandIo): Promise<void> => {
    const sessions = await open()
    if (typeof input.revoke === 'string') {
      if (!sessions.revoke(input.revoke))
        throw dashboardErrors.create('DSH_SESSION_UNKNOWN', `the console has no session ${input.revoke}`, {
          hint: 'svc dashboard sessions lists them'
        })
      io.stdout.write(
        io.json ? `${JSON.stringify({ revoked: input.revoke })}\n` : `ended the session ${input.revoke}\n`
      )
      return
    }
    const list = sessions.list()
    if (io.json) io.stdout.write(`${JSON.stringify({ sessions: list.map(wireSession) }, null, 2)}\n`)
    else if (list.length === 0) io.stdout.write('no session is open; svc dashboard signs in\n')
    else for (const session of list) io.stdout.write(`${lineOf(session)}\n`)
  }
}

function wireSession({ id, role, created, lastUsed, expires }: Session): object {
  const text = (time: number): string => new Date(time).toISOString()
  return { id, role, created: text(created), last_used: text(lastUsed), expires: text(expires) }
}

function lineOf({ id, role, created, lastUsed, expires }: Session): string {
  const text = (time: number): string => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return `${id}  ${role.padEnd(8)}  since ${text(created)}, last used ${text(lastUsed)}, ends ${text(expires)}`
}

/** Returns whether the console answers at an address: it redirects the page of the http plugin. */
async function answers({ url }: ConsoleAddress): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PROBE_MS)
    const { headers } = await fetch(`${url}/docs`, { method: 'HEAD', redirect: 'manual', signal })
    return headers.get('location') === OPERATIONS_PAGE
  } catch {
    return false
  }
}

function notServed(address: ConsoleAddress | null): Error {
  const message =
    address === null
      ? 'no server of this project serves the console'
      : `no server of this project answers at ${address.url}, where the console was last`
  return dashboardErrors.create('DSH_NOT_SERVED', message, {
    hint: 'start one with svc serve, then run svc dashboard again'
  })
}
