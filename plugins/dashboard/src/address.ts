import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpServer } from '@svc/contracts'
import { readObject, writePrivate } from './session/private-file.ts'

/** Address of the running console, for `svc dashboard` in another process. */
export interface ConsoleAddress {
  /** Address on this machine, such as `http://127.0.0.1:3847`. */
  readonly url: string
  /** Address behind a proxy with TLS. */
  readonly publicUrl: string | null
  readonly pid: number
}

/** File `address.json` in the data folder of the plugin. */
export class AddressFile {
  readonly #path: string
  #written: string | null = null

  /** `folder`: data folder of the plugin. */
  constructor(folder: string) {
    this.#path = join(folder, 'address.json')
  }

  /** Writes the address. Returns false if the file has it already. Throws system errors. */
  write(url: string, publicUrl: string | null): boolean {
    const text = `${JSON.stringify({ url, public_url: publicUrl, pid: process.pid })}\n`
    if (text === this.#written) return false
    const before = this.read()
    this.#written = text
    // After a reload of the plugin, the file is that of the previous instance.
    if (before?.pid === process.pid && before.url === url && before.publicUrl === publicUrl) return false
    writePrivate(this.#path, text)
    return true
  }

  /** Removes the file, unless another server has written it. */
  remove(): void {
    if (this.#written === null) return
    this.#written = null
    if (this.read()?.pid === process.pid) rmSync(this.#path, { force: true })
  }

  /** Returns the address of the server that runs or ran last; null if there is none. */
  read(): ConsoleAddress | null {
    const { url, public_url: publicUrl, pid } = readObject(this.#path) ?? {}
    if (typeof url !== 'string' || !URL.canParse(url) || typeof pid !== 'number') return null
    return { url, publicUrl: typeof publicUrl === 'string' ? publicUrl : null, pid }
  }
}

/** Returns the address of the main listener as a client on this machine writes it; null if it is not open. */
export function mainAddress(server: Pick<HttpServer, 'addresses'> | undefined): string | null {
  const main = server?.addresses.find(({ listener }) => listener === 'main')
  if (main === undefined) return null
  if (main.host === '0.0.0.0') return `http://127.0.0.1:${main.port}`
  return main.host === '::' ? `http://[::1]:${main.port}` : main.url
}
