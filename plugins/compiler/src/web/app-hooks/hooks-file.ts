import { pathParameters } from '@svc/contracts'
import { handlerArguments, hookEntry, isOptional } from '../../app-hooks/hook-entries.ts'
import type { AppHook, Param } from '../../syntax/ast.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { type Build, CLIENT_MODULE, EmittedModule, FUNCTIONS_MODULE } from '../../typescript/module.ts'
import { literal, valueName } from '../../typescript/names.ts'
import { type ClientRoute, clientRoutes } from '../client-routes.ts'
import { fromText } from '../files/routes-manifest.ts'
import type { WebModule } from '../web-module.ts'
import { BACK_BUTTON } from './back-button.ts'
import { DEEP_LINK } from './deep-link.ts'
import { PUSH, PUSH_WORKER } from './push.ts'
import { entryOf, type UsedHooks, usedHooks } from './used-hooks.ts'

/** Generates `mobile.ts` with the app hooks of a program, and `vox-push-worker.js` if the program receives pushes. */
export function hookFiles(web: WebModule, build: Build): EmittedFile[] {
  const hooks = usedHooks(web.module)
  if (hooks === null) return []
  const printer = new HookPrinter(web, build)
  const { back_button, deep_link, push } = hooks
  const tables = [
    ...(back_button === null ? [] : [printer.backButton(back_button)]),
    ...(deep_link === null ? [] : [printer.deepLinks(deep_link)]),
    ...(push ? [printer.push(hooks)] : [])
  ]
  const body = tables.join('\n')
  // Names are prefixed with their module, since functions of the program may have the same names.
  const imports = [
    `import { ${deviceNames(hooks).join(', ')} } from './mobile-device'`,
    ...(body.includes('$client.') ? [`import * as $client from '${CLIENT_MODULE}'`] : []),
    ...(body.includes('$functions.') ? [`import * as $functions from '${FUNCTIONS_MODULE}'`] : [])
  ]
  const text = [
    header(web.name),
    `${imports.join('\n')}\n`,
    body,
    start(hooks),
    COMMON,
    ...(body.includes('valueOf(') ? [VALUE_OF] : []),
    ...(back_button === null ? [] : [BACK_BUTTON]),
    ...(deep_link === null ? [] : [DEEP_LINK]),
    ...(push ? [PUSH] : [])
  ].join('\n')
  const worker = { path: 'vox-push-worker.js', text: `${header(web.name)}\n${PUSH_WORKER}` }
  return [{ path: 'mobile.ts', text }, ...(push ? [worker] : [])]
}

function deviceNames({ app, deep_link, push }: UsedHooks): string[] {
  return [
    'type Listening',
    ...(app ? ['nativeApp'] : []),
    ...(push ? ['nativePush'] : []),
    ...(push || deep_link !== null ? ['platform'] : []),
    ...(push ? ['type PushMessage', 'type PushPlugin'] : [])
  ]
}

function start({ back_button, deep_link, push }: UsedHooks): string {
  const calls = [
    ...(back_button === null ? [] : ['startBackButton(backButton, open)']),
    ...(deep_link === null ? [] : ['startDeepLinks(deepLinks, open)']),
    ...(push ? ['startPush(open)'] : [])
  ]
  return `/** Shows a path of the program. */
export type Open = (path: string) => void

/**
 * Starts listening to the device. Call it once, in the first module of the application. \`open\` shows a path in its
 * router. Without a router, the address changes and its listeners are notified. Returns a function that stops
 * listening.
 */
export function startMobile(open: Open = changeAddress): () => void {
  const stops = [${calls.join(', ')}]
  return () => {
    for (const stop of stops) stop()
  }
}
`
}

const VALUE_OF = `/** Returns the value of a result; throws if it is an error. */
function valueOf(result: unknown): unknown {
  const { _tag, value } = Object(result) as { readonly _tag?: unknown; readonly value?: unknown }
  if (_tag === 'Err') throw new Error(String(value))
  return _tag === 'Ok' ? value : result
}
`

const COMMON = `function changeAddress(path: string): void {
  history.pushState(null, '', path)
  window.dispatchEvent(new PopStateEvent('popstate', { state: null }))
}

/** Opens the result of a function if it is a path. */
function openPath(path: unknown, open: Open): void {
  if (typeof path !== 'string' || path === '' || path === location.pathname + location.search + location.hash) return
  // Two slashes would begin the name of another host.
  if (/^\\/(?![/\\\\])/.test(path)) open(path)
  else console.error(\`\${path} is not a path of the program\`)
}

/** Returns the result of a function; \`otherwise\` if it fails. */
async function attempt<T>(run: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await run()
  } catch (error) {
    console.error(error)
    return otherwise
  }
}

/** Returns a function that stops listening. */
function listening(begun: Listening): () => void {
  return () => void Promise.resolve(begun).then(({ remove }) => remove())
}
`

class HookPrinter {
  readonly #web: WebModule
  readonly #file: EmittedModule

  constructor(web: WebModule, build: Build) {
    this.#web = web
    this.#file = new EmittedModule(build)
  }

  backButton(hook: AppHook): string {
    const fallback = entryOf(hook, 'fallback')
    const lines = [
      `onPress: ${this.#handler(hook, 'on_press')}`,
      `fallback: ${fallback === undefined ? 'null' : this.#action(fallback, [], [])}`
    ]
    return `const backButton: BackButton = {\n  ${lines.join(',\n  ')}\n}\n`
  }

  deepLinks(hook: AppHook): string {
    const table = entryOf(hook, 'routes')
    const bareTable = table === undefined ? undefined : bare(table)
    const routes = (bareTable?.kind === 'Object' ? bareTable.entries : []).map(entry => {
      const pattern = entryKey(entry)
      const to = this.#action(entryValue(entry), pathParameters(pattern), ['url'])
      return `\n    { pattern: ${literal(pattern)}, to: ${to} }`
    })
    const lines = [
      `scheme: ${textOf(entryOf(hook, 'scheme'))}`,
      `origin: ${textOf(entryOf(hook, 'universal_link')).replace(/\/'$/, "'")}`,
      `routes: [${routes.join(',')}${routes.length === 0 ? '' : '\n  '}]`,
      `onLink: ${this.#handler(hook, 'on_link')}`,
      `pages: [${this.#pages().map(literal).join(', ')}]`
    ]
    return `const deepLinks: DeepLinks = {\n  ${lines.join(',\n  ')}\n}\n`
  }

  push({ pushHook, usesPush }: UsedHooks): string {
    const handler = (name: string): string => (pushHook === null ? 'null' : this.#handler(pushHook, name))
    const lines = [
      `publicKey: ${textOf(pushHook === null ? undefined : entryOf(pushHook, 'public_key'))}`,
      `asks: ${usesPush}`,
      `onRegister: ${handler('on_register')}`,
      `onNotification: ${handler('on_notification')}`,
      `onAction: ${handler('on_action')}`
    ]
    return `const push: Push = {\n  ${lines.join(',\n  ')}\n}\n`
  }

  /** Returns the path prefixes of the program's pages; a program without pages has one. */
  #pages(): string[] {
    const { routes } = clientRoutes(this.#web)
    return routes === null ? ['/'] : [...new Set(routes.routes.flatMap(pathsOf))]
  }

  /** Returns a function that calls the function named by an entry; `null` for an omitted entry. */
  #handler(hook: AppHook, name: string): string {
    const value = entryOf(hook, name)
    if (value === undefined || hook.hook === 'tokens') return 'null'
    const offers = hookEntry(hook.hook, name)?.offers ?? []
    const { values, params } = this.#values(value, offers)
    const used = [...new Set(values)].filter(each => each !== null)
    const head = used.length === 0 ? '()' : `({ ${used.join(', ')} })`
    const args = values.map((each, index) => each ?? omittedArgument(params[index]))
    return `async ${head} => valueOf(await ${this.#callee(value)}(${args.join(', ')}))`
  }

  /** Returns a function of the link's parameters that returns a path, or the result of the named function. */
  #action(written: Expression, inPath: readonly string[], offers: readonly string[]): string {
    const value = bare(written)
    if (value.kind === 'String') {
      const parts = value.value.split(/:([a-z_]\w*)/i).map((part, index) => {
        if (index % 2 === 1) return `encodeURIComponent(params[${literal(part)}] ?? '')`
        return part === '' ? null : literal(part)
      })
      const text = parts.filter(part => part !== null).join(' + ')
      return `async ${text.includes('params[') ? 'params' : '()'} => ${text}`
    }
    const { values, params } = this.#values(value, [...inPath, ...offers])
    const body = value.kind === 'Identifier' ? this.#file.program.body(value.name) : null
    const types = body?.params.map(local => body.locals[local]?.type) ?? []
    const args = values.map((each, index) => {
      const param = params[index]
      if (each === null || param === undefined) return omittedArgument(param)
      return fromText(types[index] ?? null, `params[${literal(each)}]`)
    })
    const head = args.some(each => each.includes('params[')) ? 'params' : '()'
    return `async ${head} => valueOf(await ${this.#callee(value)}(${args.join(', ')}))`
  }

  #values(
    value: Expression,
    offers: readonly string[]
  ): { values: readonly (string | null)[]; params: readonly Param[] } {
    const inner = bare(value)
    const name = inner.kind === 'Identifier' ? inner.name : ''
    const params = (this.#file.program.names.get(name)?.signature?.params ?? []) as readonly Param[]
    return { values: handlerArguments(params, offers).values, params }
  }

  #callee(value: Expression): string {
    const inner = bare(value)
    const name = inner.kind === 'Identifier' ? inner.name : ''
    const kind = this.#file.program.kindOf(name)
    if (kind === 'read' || kind === 'write') return `$client.${valueName(name)}`
    if (kind === 'local') {
      this.#file.shared(name)
      return `$functions.${valueName(name)}`
    }
    const message = `a hook of an app cannot call \`${name}\``
    this.#file.program.problem({ code: 'web.not_in_browser', message, span: value })
    return '(() => null)'
  }
}

/** Returns the argument for a parameter that receives no value: its default. */
function omittedArgument(param: Param | undefined): string {
  return param !== undefined && param.value === null && isOptional(param.type) ? 'null' : 'undefined'
}

function textOf(value: Expression | undefined): string {
  const inner = value === undefined ? undefined : bare(value)
  return inner?.kind === 'String' ? literal(inner.value) : 'null'
}

function pathsOf({ path, children }: ClientRoute): string[] {
  return [path, ...children.flatMap(pathsOf)]
}
