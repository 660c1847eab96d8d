import { Sidecar, type SidecarOptions } from '#root'

// Starts the sidecar with the options in its argument. Its probes succeed at no time and print a line each.
const options = JSON.parse(process.argv[2] as string) as { readonly hangs: number } & SidecarOptions
let probes = 0
const sidecar = new Sidecar({
  ...options,
  probe: () => {
    probes += 1
    process.stdout.write(`probe ${probes}\n`)
    return probes === options.hangs ? new Promise(() => undefined) : Promise.resolve(false)
  }
})
setInterval(() => undefined, 1_000)
await sidecar.start()
