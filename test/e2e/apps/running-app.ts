import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { launched, noBrowser, opened } from '../../../plugins/compiler/test/web/browsing.ts'
import { findings } from '../../../plugins/compiler/test/web/building.ts'
import { runSvc } from '../run-svc.ts'
import { type Files, makeProject, type Served, serve } from '../served-project.ts'

const EXAMPLES = join(import.meta.dirname, '../../../examples/apps')
const SQLITE = '/usr/bin/sqlite3'
const PASSWORD = 'correct horse battery'

const exec = promisify(execFile)

/** A program of examples/apps in a separate project, served on a free port. */
export interface RunningApp extends Served {
  /** Address of the program. */
  readonly app: string
  /** Errors that the browser reported, for `checkFiles`. */
  readonly problems: string[]
  /** Opens a page in a new browser context. */
  visit(path: string, name: string): Promise<Page>
}

/** Reason to skip a test with a browser; false if there is one. */
export const skip = noBrowser()

export async function runApp(t: Test, name: string, settings = '', files: Files = {}): Promise<RunningApp> {
  const folder = makeProject(t, {
    'app.vox': readFileSync(join(EXAMPLES, `${name}.vox`), 'utf8'),
    'svc.toml': `[plugins.app-runtime]\nport = 0\nprogram = "app.vox"\ndatabase = "app.db"\n${settings}`,
    ...files
  })
  const served = await serve(t, folder, ['--only', 'app-runtime,http,web,compiler'])
  const app = /app listens on (http:\/\/[^\s"]+)/.exec(await served.line(/app listens on/))?.[1] as string
  const browser = await launched(t)
  const problems: string[] = []
  return {
    ...served,
    app,
    problems,
    async visit(path, name) {
      const { page } = await opened(t, browser, name)
      page.on('pageerror', error => problems.push(`${name}: ${error.message}`))
      await page.goto(app + path)
      return page
    }
  }
}

/** Fills in the fields of a form by their labels, and sends it. */
export async function submit(page: Page, form: string, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.locator(form).getByLabel(label).fill(value)
  await page.locator(`${form} button[type=submit]`).click()
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Calls an endpoint with JSON, as a program would. Returns the status and the JSON of the answer. */
export async function call(app: string, path: string, body?: unknown, token?: string): Promise<Answer> {
  const response = await fetch(app + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
    },
    body: body === undefined ? null : JSON.stringify(body)
  })
  return { status: response.status, body: await response.json() }
}

/** Signs a user up. Returns a token of the session. */
export async function signUp(app: string, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const { body } = await call(app, '/api/auth/sign_up', { ...fields, password: PASSWORD, session: 'token' })
  const { token } = body as { token?: string }
  if (token === undefined) throw new Error(`the sign-up failed: ${JSON.stringify(body)}`)
  return token
}

/** Reads the database with the shell of SQLite. */
export async function sqlite({ folder }: { readonly folder: string }, statement: string): Promise<string> {
  const { stdout } = await exec(SQLITE, [join(folder, 'app.db'), statement])
  return stdout.trim()
}

/** Holds the files of an app against tools that others wrote: an OpenAPI validator, TypeScript and SQLite. */
export async function checkFiles(t: Test, { app, folder, stop, problems }: RunningApp): Promise<void> {
  t.same(problems, [], 'no page had an error')
  const document = (await (await fetch(`${app}/openapi.json`)).json()) as Record<string, unknown>
  t.match(await new Validator().validate(document), { valid: true }, 'openapi.json is valid')
  const client = join(folder, 'client')
  rmSync(client, { recursive: true, force: true })
  await runSvc(folder, ['client', 'app.vox', '-o', join(client, 'client.ts')])
  t.equal(readFileSync(join(client, 'client.ts'), 'utf8'), await (await fetch(`${app}/api/client.ts`)).text())
  writeFileSync(join(client, 'tsconfig.json'), CLIENT_SETTINGS)
  t.equal(await findings(client), '', 'tsc accepts the client')
  t.equal(await stop(), 0)
  if (!existsSync(SQLITE)) return t.comment(`${SQLITE} does not exist`)
  t.equal(await sqlite({ folder }, 'pragma integrity_check'), 'ok')
  t.equal(await sqlite({ folder }, 'pragma foreign_key_check'), '')
}

const CLIENT_SETTINGS = JSON.stringify({
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: []
  }
})

/** Runs the checks, tests and the build of a program from the command line. */
export async function checkProgram(t: Test, name: string): Promise<void> {
  const source = readFileSync(join(EXAMPLES, `${name}.vox`), 'utf8')
  const folder = makeProject(t, { 'app.vox': source })
  const checked = await runSvc(folder, ['check', 'app.vox'])
  t.equal(checked.code, 0, checked.stderr)
  t.match(checked.stderr, 'checked app.vox: no errors\n')
  const tested = await runSvc(folder, ['test', 'app.vox'])
  t.equal(tested.code, 0, tested.stdout + tested.stderr)
  const formatted = await runSvc(folder, ['fmt', 'app.vox'])
  t.equal(formatted.code, 0, formatted.stderr)
  t.equal(readFileSync(join(folder, 'app.vox'), 'utf8'), source, 'the program is formatted')
  const built = await runSvc(folder, ['build', 'app.vox', '-o', 'web'])
  t.equal(built.code, 0, built.stderr)
}
