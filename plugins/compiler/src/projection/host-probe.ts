import { availableParallelism, hostname } from 'node:os'
import type { RuntimeProjection } from '@svc/contracts'

export type HostProbe = NonNullable<RuntimeProjection['host_capability_probe']>

/** Architecture names of Rust's `std::env::consts::ARCH`, by `process.arch`; names not listed stay unchanged. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64', ia32: 'x86' }

/** Describes the machine on which this process runs. */
export function hostProbe(env: Readonly<Record<string, string | undefined>> = process.env): HostProbe {
  const name = env.HOSTNAME || env.COMPUTERNAME || hostname()
  return {
    cpu_cores: availableParallelism(),
    arch: ARCHITECTURES[process.arch] ?? process.arch,
    ...(name === '' ? {} : { hostname: name })
  }
}
