import type { Test } from 'tap'
import '../../../../test/cheap-passwords.ts'
import { type ServedApp, serveInProcess } from '../../../../test/e2e/served-in-process.ts'

/** Notes of two users, with a sign-up that may refuse. */
export const NOTES = `
@table @auth(provider: password, identity: email)
type User { email: str  name: str  role: str = "member"  bio: Option[str]  signups: int = 0 }

@table @rule(read: owner is user.id, insert: owner is user.id, update: owner is user.id, delete: owner is user.id)
type Note { owner: Id[User]  body: str }

@mutation fn on_sign_up(user: User) to Result[Unit, str] {
  if user.name is "refused" { return Error("this name is not welcome") }
  db.User.update(user._id, { signups: 1 })
  db.Note.insert({ owner: user._id, body: "welcome " + user.name })
  Ok(())
}

@query @auth fn who() to str { request.user.id }
@query @auth(optional: true) fn greeting() to str { match request.user { Some(user) => user.id  None => "anonymous" } }
@query @auth fn account() to str { request.account.name }
@query @auth fn notes() to List[str] { db.Note.all().order_by("_id").map(fn(note) { note.body }) }
@query @public fn open_notes() to int { db.Note.count() }
@mutation @auth fn add_note(body: str) to int { db.Note.insert({ owner: request.account._id, body: body }) }
@mutation @auth fn add_for(owner: int, body: str) to int { db.Note.insert({ owner: owner, body: body }) }
@mutation @auth fn edit(id: int, body: str) { db.Note.update(id, { body: body }) }
@query @role("admin") fn all_users() to int { db.User.count() }
@mutation @auth fn promote() { db.User.update(request.account._id, { role: "admin" }) }
@mutation @public fn delete_user(id: int) { db.User.delete(id) }
`

export interface Reply {
  readonly status: number
  readonly body: any
  readonly headers: Headers
}

/** A browser with one cookie, or another client. */
export interface Client {
  cookie: string | null
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>
}

export const PASSWORD = 'correct horse battery'

export function clientOf({ url }: Pick<ServedApp, 'url'>): Client {
  const send = async (path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Reply> => {
    const cookie: Record<string, string> = client.cookie === null ? {} : { cookie: client.cookie }
    const response = await fetch(url + path, { ...init, redirect: 'manual', headers: { ...cookie, ...init.headers } })
    for (const set of response.headers.getSetCookie()) {
      const pair = set.split(';', 1)[0] ?? ''
      if (pair.startsWith('vox=')) client.cookie = pair === 'vox=' ? null : pair
    }
    const text = await response.text()
    let body: unknown = text
    try {
      body = JSON.parse(text)
    } catch {
      // Not JSON.
    }
    return { status: response.status, body, headers: response.headers }
  }
  const client: Client = {
    cookie: null,
    get: (path, headers = {}) => send(path, { headers: { ...headers } }),
    post: (path, body = {}, headers = {}) =>
      send(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', origin: url, ...headers }
      })
  }
  return client
}

export async function serveNotes(t: Test, source = NOTES, set: readonly string[] = []): Promise<ServedApp> {
  return serveInProcess(t, source, { set })
}

/** Signs a new user up. */
export async function signUp(app: Pick<ServedApp, 'url'>, name: string): Promise<Client> {
  const client = clientOf(app)
  const { status, body } = await client.post('/api/auth/sign_up', {
    email: `${name}@example.org`,
    name,
    password: PASSWORD
  })
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return client
}
