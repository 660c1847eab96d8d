import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type DatabaseLocation, dataDirectory, locationOf } from '#root'

const FOLDERS = { project: '/project', state: '/project/.vox', data: '/data' }
const DEFAULTS = { journey_store: 'project', journey_fallback_canonical: true } as const
type Named = Parameters<typeof locationOf>[0]

const place = (settings: Partial<Named> = {}): DatabaseLocation => locationOf({ ...DEFAULTS, ...settings }, FOLDERS)
const REMOTE = { url: 'libsql://db.example', token: 'a' }

t.test("the default is the project's store, with the user's store as fallback", t => {
  t.same(place(), { mode: 'file', file: '/project/.vox/store.db', fallback: '/data/vox.db' })
  t.same(place({ journey_fallback_canonical: false }), { mode: 'file', file: '/project/.vox/store.db', fallback: null })
  t.same(place({ journey_store: 'canonical' }), { mode: 'file', file: '/data/vox.db', fallback: null })
  t.end()
})

t.test('a path selects a file in the project, without a fallback', t => {
  t.same(place({ path: 'db/a.db' }), { mode: 'file', file: '/project/db/a.db', fallback: null })
  t.same(place({ path: '/var/a.db' }), { mode: 'file', file: '/var/a.db', fallback: null })
  t.same(place({ url: 'file:db/a.db' }), { mode: 'file', file: '/project/db/a.db', fallback: null })
  t.same(place({ url: 'file:///var/a%20b.db', token: 'x' }), { mode: 'file', file: '/var/a b.db', fallback: null })
  t.end()
})

t.test('a URL with its token selects a remote database, and with a path a replica of it', t => {
  t.same(place(REMOTE), { mode: 'remote', ...REMOTE })
  t.same(place({ url: 'wss://db.example', token: 'a' }), { mode: 'remote', url: 'https://db.example', token: 'a' })
  t.same(place({ ...REMOTE, path: 'a.db' }), { mode: 'replica', file: '/project/a.db', ...REMOTE })
  t.end()
})

t.test('deprecated pairs are used in order if url and token are not both set', t => {
  const sql = { sql_url: 'http://sql', sql_token: 'b' }
  const legacy = { legacy_sql_url: 'http://legacy', legacy_sql_auth_token: 'c' }
  t.same(place({ ...REMOTE, ...sql, ...legacy }), { mode: 'remote', ...REMOTE })
  t.same(place({ url: REMOTE.url, ...sql, ...legacy }), { mode: 'remote', url: 'http://sql', token: 'b' })
  t.same(place({ sql_url: 'http://sql', ...legacy }), { mode: 'remote', url: 'http://legacy', token: 'c' })
  t.end()
})

t.test('half a pair is an error that names the setting but not the token', t => {
  for (const settings of [
    { url: REMOTE.url },
    { token: 'hush' },
    { sql_token: 'hush' },
    { legacy_sql_url: 'http://a' }
  ]) {
    const path = `plugins.database.${(Object.keys(settings)[0] ?? '').replace('token', 'url').replace('auth_', '')}`
    t.throws(() => place(settings), { code: 'DBP_REMOTE_INCOMPLETE', at: { path }, message: /^(?!.*hush)/ })
  }
  t.end()
})

t.test('rejects an invalid URL, or one with a password, without printing it', t => {
  for (const url of ['nonsense', 'ftp://a', 'https://user:hush@a'])
    t.throws(() => place({ url, token: 'x' }), { code: 'DBP_URL_INVALID', message: /^(?!.*hush)/ }, url)
  t.end()
})

t.test('the data directory is the configured one, else the default of the platform', t => {
  t.equal(dataDirectory('/told', {}, 'linux'), '/told')
  t.equal(dataDirectory(undefined, { XDG_DATA_HOME: '/xdg' }, 'linux'), '/xdg/svc')
  t.equal(dataDirectory(undefined, {}, 'linux'), join(homedir(), '.local/share/svc'))
  t.equal(dataDirectory(undefined, {}, 'darwin'), join(homedir(), 'Library/Application Support/svc'))
  t.equal(dataDirectory(undefined, { APPDATA: '/roaming' }, 'win32'), '/roaming/svc')
  t.end()
})
