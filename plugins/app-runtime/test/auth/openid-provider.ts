import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Test } from 'tap'

export interface OpenIdServer {
  readonly issuer: string
  /** Starts to answer, once the address of the program is known. */
  start(redirectUris: readonly string[]): void
}

/**
 * A certified OpenID provider on a free port of this machine, whose users sign in with any password. A code is valid for
 * `codeSeconds`.
 */
export async function openIdServer(t: Test, secret: string, codeSeconds = 60): Promise<OpenIdServer> {
  const server: Server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    start(redirectUris) {
      const provider = new Provider(issuer, {
        clients: [{ client_id: 'app', client_secret: secret, redirect_uris: [...redirectUris] }],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
        cookies: { keys: ['of the test'] },
        ttl: { AuthorizationCode: codeSeconds },
        findAccount: (_: unknown, id: string) => ({
          accountId: id,
          claims: async () => ({ sub: id, email: `${id}@idp.example`, email_verified: id !== 'unverified', name: id })
        })
      })
      server.on('request', provider.callback())
    }
  }
}

/** A browser that follows redirects, with the cookies of all origins of this machine. */
export class Browser {
  readonly cookies = new Map<string, string>()

  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split(';', 1)
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(set)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return response
  }

  /** Follows redirects and fills in the forms of the provider, until it redirects to `target`. Returns that address. */
  async signIn(url: string, user: string, target: string): Promise<string> {
    let response = await this.open(url)
    for (let steps = 0; steps < 20; steps++) {
      const location = response.headers.get('location')
      if (location !== null) {
        const next = new URL(location, response.url || url).href
        if (next.startsWith(target)) return next
        response = await this.open(next)
        continue
      }
      const html = await response.text()
      const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1]
      if (action === undefined) throw new Error(`${response.status} ${html.slice(0, 500)}`)
      const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? ''
      response = await this.open(new URL(action, response.url).href, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ prompt, login: user, password: 'any' }).toString()
      })
    }
    throw new Error('too many steps')
  }
}
