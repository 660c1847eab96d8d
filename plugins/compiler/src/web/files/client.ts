import {
  answerType,
  type HirParam,
  type HttpBody,
  type HttpEndpoint,
  httpEndpointsOf,
  httpInputOf,
  isResponseRoute
} from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { literal, propertyKey, valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { ClientTypes } from '../client-types.ts'
import { argumentObject, argumentsType, fileUse, inputType, parameterList } from '../endpoints.ts'
import { operationIds } from '../operation-ids.ts'
import { viewsOf, type WebModule } from '../web-module.ts'
import { CONNECTION, HELPERS } from './client-transport.ts'

/** Generates `vox-client.ts` with a function for every HTTP endpoint; null if there are no endpoints. */
export function clientFile(web: WebModule): EmittedFile | null {
  return httpEndpointsOf(web.hir).length === 0 ? null : { path: 'vox-client.ts', text: clientText(web) }
}

/** Generates a client module without imports, so that a running program can serve it. */
export function clientText(web: WebModule): string {
  const endpoints = httpEndpointsOf(web.hir)
  const names = operationIds(endpoints)
  const types = new ClientTypes(web)
  const auth = names.includes('auth') ? [] : authMember(web, types)
  const members = [
    ...endpoints.map((endpoint, index) => memberText(web, endpoint, names[index] as string, types)),
    ...auth
  ]
  const exported = [...names, ...auth.map(() => 'auth')].map(name =>
    valueName(name) === name ? name : `${name}: ${valueName(name)}`
  )
  const to = members.length === 0 ? '_connection' : '$to'
  const create = `/** Creates functions that call a program at any address. */
export function createClient(${to}: Partial<Connection> = {}) {
  return {${members.length === 0 ? '' : `\n${members.join(',\n')}\n  `}}
}
`
  const functions =
    exported.length === 0
      ? []
      : [`export const {\n${exported.map(each => `  ${each}`).join(',\n')}\n} = createClient(voxClient)\n`]
  const parts = [CONNECTION, create, ...functions]
  return [
    `// A client of ${web.name}.vox. Generated; do not edit.\n`,
    ...types.declarations(),
    ...parts,
    ...helpersOf(parts.join('\n') + (readsInts(web) ? '$int(' : '') + (hasGuardedPages(web) ? '$admitted(' : ''))
  ].join('\n')
}

/** Pages read ints of their addresses, and forms those of their inputs. */
function readsInts({ pages }: WebModule): boolean {
  return pages.routes.length > 0 || viewsOf(pages, 'Form').length > 0
}

/** The manifest asks whether the caller may open a guarded page. */
function hasGuardedPages({ guards }: WebModule): boolean {
  return guards.some(({ kind, auth }) => kind === 'page' && auth?.isOptional === false)
}

/** Returns the used helpers, since a strict project does not allow unused functions. */
function helpersOf(text: string): string[] {
  let used = text
  return HELPERS.flatMap(({ name, text: helper }) => {
    if (!used.includes(`${name}(`) && !used.includes(`${name}<`)) return []
    used += helper
    return [helper]
  })
}

function memberText(web: WebModule, endpoint: HttpEndpoint, name: string, types: ClientTypes): string {
  const { method, path: shown } = endpoint.route
  const { path, query, body } = httpInputOf(endpoint)
  const params = [...path, ...query, ...paramsOf(body)]
  const parameters = [
    parameterList(web, params, types, param => inputType(web, param, types)),
    ...(body.kind === 'any' ? [`${bodyName(params)}?: unknown`] : [])
  ]
  const isResponse = isResponseRoute(endpoint, web.hir)
  const result = isResponse ? 'globalThis.Response' : web.types.result(answerType(endpoint.returns, web.hir), types)
  const address = addressText(shown, path)
  const kind = endpoint.kind === 'query' ? '$json' : '$text'
  const target = query.length === 0 ? address : `${address} + ${kind}(${argumentObject(query)})`
  const isForm = paramsOf(body).some(({ type_ann }) => fileUse(web.hir, type_ann) !== null)
  const sent = isForm ? formText(web, paramsOf(body)) : sentText(body, params)
  const call = `(${parameters.filter(each => each !== '').join(', ')}): Promise<${result}> =>
      ${isForm ? '$upload' : isResponse ? '$raw' : '$call'}($to, '${method}', ${target}${sent === null ? '' : `, ${sent}`})`
  const isLive = endpoint.kind === 'query' && web.live.has(endpoint.name)
  return `    /** \`${method} ${shown.replaceAll('*/', '*\\/')}\` */
    ${propertyKey(name)}: ${isLive ? liveText(web, endpoint, call, result, types) : call}`
}

/** Returns a function with the member `live`, which follows the query. */
function liveText(
  web: WebModule,
  { name, params }: HttpEndpoint,
  call: string,
  result: string,
  types: ClientTypes
): string {
  return `globalThis.Object.assign(
      ${call.replace('\n', '\n  ')},
      {
        /** Passes the result to \`onValue\`, and each later one. \`onError\` gets status 0 while the connection is lost. Returns a function that ends this. */
        live: (args: ${params.length === 0 ? 'Readonly<Record<string, never>>' : argumentsType(web, params, types)}, onValue: (value: ${result}) => void, onError?: (error: ApiError) => void): (() => void) =>
          $watch($to, ${literal(name)}, args, onValue, onError)
      }
    )`
}

/** Returns the functions with which users sign up, in and out; nothing for a program without users. */
function authMember(web: WebModule, types: ClientTypes): string[] {
  const { users, hir } = web
  if (users === null) return []
  const user = web.types.result({ Named: users.table }, types)
  const columns = hir.tables.find(({ name }) => name === users.table)?.fields ?? []
  const typeOf = (name: string): string =>
    web.types.print(columns.find(each => each.name === name)?.type_ann ?? null, types)
  const own = users.signUpColumns.map(name => `readonly ${propertyKey(name)}: ${typeOf(name)}`)
  const session = "readonly password: string; readonly session?: 'cookie' | 'token'"
  // The server knows the caller of a websocket from its start.
  const call = (path: string, fields = ''): string => {
    const sent = `$call($to, 'POST', '/api/auth/${path}'${fields})`
    return web.live.size === 0 ? sent : `$renewed($to, ${sent})`
  }
  const signedIn = `Promise<{ readonly user: ${user}; readonly token?: string }>`
  const withPassword = `
      /** Creates a user and signs in. */
      signUp: (fields: { ${[...own, session].join('; ')} }): ${signedIn} =>
        ${call('sign_up', ', fields')},
      /** Signs in: with a cookie, or for a token, which the caller passes as \`token\` of its connection. */
      signIn: (fields: { readonly ${propertyKey(users.identity)}: string; ${session} }): ${signedIn} =>
        ${call('sign_in', ', fields')},
      /** Changes the password, and ends the other sessions. */
      changePassword: (fields: { readonly current: string; readonly password: string }): Promise<{ readonly token?: string }> =>
        ${call('password', ', fields')},`
  return [
    `    /** The users of the program. */
    auth: {${users.hasPassword ? withPassword : ''}
      signOut: (): Promise<null> => ${call('sign_out')},
      /** Returns the user who is signed in, or null. */
      me: (): Promise<${user} | null> => $call($to, 'GET', '/api/auth/me'),
      /** Returns the sessions of the user. */
      sessions: (): Promise<readonly { readonly id: string; readonly agent: string | null; readonly created_at_ms: number; readonly expires_at_ms: number; readonly is_current: boolean }[]> =>
        $call($to, 'GET', '/api/auth/sessions'),
      /** Ends a session of the user. Returns false if it does not exist. */
      endSession: (id: string): Promise<boolean> => $call($to, 'POST', '/api/auth/end_session', { id }),
      /** Returns the ways in which the user can sign in: \`password\`, and names of OpenID providers. */
      identities: (): Promise<readonly { readonly provider: string; readonly created_at_ms: number }[]> => $call($to, 'GET', '/api/auth/identities'),
      /** Begins to link an identity at an OpenID provider. The page opens the returned address, and \`next\` is opened at the end. */
      link: (provider: string, next?: string): Promise<{ readonly url: string }> =>
        $call($to, 'POST', '/api/auth/oauth/' + $part(provider) + '/link' + $text({ next })),
      /** Removes the identity at an OpenID provider, and ends the other sessions. */
      unlink: (provider: string): Promise<null> => $call($to, 'POST', '/api/auth/oauth/' + $part(provider) + '/unlink')
    }`
  ]
}

function paramsOf(body: HttpBody): readonly HirParam[] {
  if (body.kind === 'whole') return [body.param]
  return body.kind === 'fields' ? body.params : []
}

/** Returns the name of the body argument, which must differ from the parameters. */
function bodyName(params: readonly HirParam[]): string {
  return params.some(({ name }) => name === 'body') ? 'body_' : 'body'
}

function sentText(body: HttpBody, params: readonly HirParam[]): string | null {
  switch (body.kind) {
    case 'none':
      return null
    case 'any':
      return bodyName(params)
    case 'whole':
      return valueName(body.param.name)
    case 'fields':
      return argumentObject(body.params)
  }
}

/** Returns an object with the parts of a form: texts and files as they are, and other values as JSON. */
function formText(web: WebModule, params: readonly HirParam[]): string {
  const entries = params.map(({ name, type_ann }) => {
    const value = valueName(name)
    const isPlain =
      web.types.print(type_ann, new TypeImports()).startsWith('string') || fileUse(web.hir, type_ann) !== null
    return `${propertyKey(name)}: ${isPlain ? value : `${value} === undefined || ${value} === null ? ${value} : $print(${value})`}`
  })
  return `{ ${entries.join(', ')} }`
}

/** Returns code for the address of a route: `'/notes/' + $part(id)` for `/notes/:id`. */
function addressText(path: string, params: readonly HirParam[]): string {
  const parts = path.split(/(:[A-Za-z_]\w*)/).filter(part => part !== '')
  return parts
    .map(part => {
      const param = params.find(({ name }) => part === `:${name}`)
      return param === undefined ? literal(part) : `$part(${valueName(param.name)})`
    })
    .join(' + ')
}
