import type { HttpExchange, HttpHandlerRoute, HttpHandlers } from '@svc/contracts'
import type { CallDoor } from './call-door.ts'
import type { ConsoleState } from './console-state.ts'
import { dashboardErrors } from './errors.ts'
import type { ModuleFiles } from './files/module-files.ts'
import type { PageFiles } from './files/page-files.ts'
import { OPERATIONS_PAGE, setHeaders } from './headers.ts'
import { sendCompressedJson, sendJson } from './json.ts'
import type { Session } from './session/sessions.ts'
import { SignIn, type SignInParts } from './session/sign-in.ts'

export interface RouteParts extends SignInParts {
  readonly pages: PageFiles
  readonly modules: ModuleFiles
  readonly door: CallDoor
  readonly state: ConsoleState
}

type Run = (exchange: HttpExchange) => void | Promise<void>
type RunSigned = (exchange: HttpExchange, session: Session) => void | Promise<void>

/** Returns the routes of the console on the main listener. */
export function consoleRoutes(parts: RouteParts): HttpHandlers {
  const { access, pages, modules, door, state } = parts
  const signIn = new SignIn(parts)
  const open = (run: Run) => (exchange: HttpExchange) => {
    setHeaders(exchange.response)
    access.originOf(exchange.request)
    settle(exchange, run(exchange))
  }
  const signed = (run: RunSigned): HttpHandlerRoute['handle'] =>
    open(exchange => run(exchange, access.sessionOf(exchange.request)))
  const owner = (run: RunSigned): HttpHandlerRoute['handle'] =>
    signed((exchange, session) => {
      if (session.role !== 'owner')
        throw dashboardErrors.create('DSH_ROLE_FORBIDDEN', 'only an owner may see and end sessions of the console', {
          hint: 'sign in with more rights: svc dashboard --role owner'
        })
      return run(exchange, session)
    })
  const shell = open(exchange => pages.sendShell(exchange))
  return {
    auth: 'own',
    routes: [
      { method: 'GET', path: '/', summary: 'Console', handle: shell },
      { method: 'GET', path: '/ui', summary: 'Console', handle: shell },
      { method: 'GET', path: '/ui/*', summary: 'Page of the console', handle: shell },
      {
        method: 'GET',
        path: '/docs',
        summary: 'Redirect to the operations in the console',
        handle: open(exchange => exchange.send(302, 'text/plain', '', { location: OPERATIONS_PAGE }))
      },
      {
        method: 'GET',
        path: '/ui/assets/:file',
        summary: 'File of the console',
        handle: open(exchange => pages.sendAsset(exchange))
      },
      {
        method: 'GET',
        path: '/ui/ext/:plugin/:hash/:file',
        summary: 'Code of a page that a plugin contributes',
        handle: open(exchange => modules.sendScript(exchange))
      },
      {
        method: 'GET',
        path: '/ui/frame/:plugin/:hash/:file',
        summary: 'Frame for a page of an isolated plugin',
        handle: open(exchange => modules.sendFrame(exchange))
      },
      {
        method: 'POST',
        path: '/ui/api/session',
        summary: 'Sign in with a code of svc dashboard',
        handle: open(exchange => signIn.begin(exchange))
      },
      {
        method: 'GET',
        path: '/ui/api/session',
        summary: 'Session of the caller',
        handle: signed((exchange, session) => sendJson(exchange, { session: signIn.shown(session, session) }))
      },
      {
        method: 'DELETE',
        path: '/ui/api/session',
        summary: 'Sign out',
        handle: signed((exchange, session) => signIn.end(exchange, session))
      },
      {
        method: 'GET',
        path: '/ui/api/sessions',
        summary: 'All sessions of the console',
        handle: owner((exchange, session) => sendJson(exchange, { sessions: signIn.list(session) }))
      },
      {
        method: 'DELETE',
        path: '/ui/api/sessions/:id',
        summary: 'End a session of the console',
        handle: owner(exchange => signIn.revoke(exchange))
      },
      {
        method: 'GET',
        path: '/ui/api/console',
        summary: 'Pages, cards, actions and operations of the console',
        handle: signed(async (exchange, session) => sendCompressedJson(exchange, await state.of(session.role)))
      },
      {
        method: 'GET',
        path: '/ui/api/operations/:id',
        summary: 'Schemas of an operation',
        handle: signed((exchange, session) => {
          const entry = door.find(exchange.params.id ?? '')
          return sendCompressedJson(exchange, state.describe(entry, session.role))
        })
      },
      {
        method: 'POST',
        path: '/ui/api/call/:operation',
        summary: 'Call an operation',
        handle: signed((exchange, session) => door.handle(exchange, session))
      },
      {
        method: 'GET',
        path: '/ui/api/*',
        summary: 'Unknown path of the API',
        handle: open(exchange => {
          const path = exchange.params['*'] ?? ''
          throw dashboardErrors.create('DSH_FILE_UNKNOWN', `the API of the console has no path ${JSON.stringify(path)}`)
        })
      }
    ]
  }
}

function settle(exchange: HttpExchange, result: void | Promise<void>): void {
  if (result !== undefined) result.catch(error => exchange.fail(error))
}
