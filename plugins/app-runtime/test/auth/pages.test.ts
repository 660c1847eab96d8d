import t from 'tap'
import { type ServedApp, serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { bearer, SET } from './guarded-app.ts'
import { ownToken } from './tokens.ts'

const SOURCE = `
@auth(redirect: "/sign-in") component Inbox() { view: <p>"inbox"</p> }
@role("admin") component Admin() { view: <p>"admin"</p> }
component SignIn() { view: <p>"sign in"</p> }
routes {
    "/sign-in" to SignIn
    "/inbox" to Inbox { "/:id" to Inbox }
    "/admin" to Admin
}
`

async function open(app: ServedApp, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(app.url + path, { redirect: 'manual', headers: { accept: 'text/html', ...headers } })
  return { status: response.status, location: response.headers.get('location'), text: await response.text() }
}

t.test('the document of a guarded page is redirected or refused, and its guard can be asked', async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE, 'public/index.html': '<p>pages</p>' })
  const app = await serveInProcess(t, SOURCE, { set: SET, folder })
  const [ann, eve] = [bearer(await ownToken()), bearer(await ownToken({ roles: ['admin'] }))]
  t.match(await open(app, '/sign-in'), { status: 200, text: '<p>pages</p>' })
  t.match(await open(app, '/inbox?a=1'), { status: 302, location: '/sign-in?next=%2Finbox%3Fa%3D1' })
  t.match(await open(app, '/inbox/7'), { status: 302 })
  t.match(await open(app, '/inbox/'), { status: 302 })
  for (const path of ['/%69nbox', '//inbox', '/INBOX', '/inbox/a%2Fb', '/%69nbox/a%2Fb', '/sign-in%2F..%2Finbox']) {
    t.match(await open(app, path), { status: 302 }, path)
  }
  t.match(await open(app, '/%ff'), { status: 400 }, 'no path')
  t.match(await open(app, '/inbox', bearer('wrong')), { status: 302 }, 'a proof that is not valid')
  t.match(await open(app, '/inbox', ann), { status: 200, text: '<p>pages</p>' })
  t.match(await open(app, '/admin'), { status: 401 })
  t.match(await open(app, '/admin', ann), { status: 403 })
  t.match(await open(app, '/admin', eve), { status: 200 })
  t.match(await open(app, '/api/auth/pages/Inbox'), { status: 401 })
  t.match(await open(app, '/api/auth/pages/Inbox', ann), { status: 204 })
  t.match(await open(app, '/api/auth/pages/Admin', ann), { status: 403 })
  t.match(await open(app, '/api/auth/pages/SignIn'), { status: 204 })
})
