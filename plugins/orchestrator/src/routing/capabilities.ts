import type { CapabilityHints } from '@svc/contracts'
import { DEVICES } from './fitness.ts'

/**
 * Returns the capabilities of a new agent, by the protocol's five rules:
 *
 * 1. The configured capabilities are the basis.
 * 2. Cores, architecture and host name come from the probe, if known.
 * 3. Labels are the configured ones, then further ones from the probe.
 * 4. A flag is set if it is configured or probed. The device class comes from the probe unless it is configured.
 * 5. Memory and minimum cores come from the probe unless they are configured.
 *
 * False flags are left out.
 */
export function mergeCapabilities(configured: CapabilityHints, probe: CapabilityHints): CapabilityHints {
  const labels = [...new Set([...(configured.labels ?? []), ...(probe.labels ?? [])])]
  const merged: Record<string, unknown> = { ...configured }
  overlay(merged, { cpu_cores: probe.cpu_cores, arch: probe.arch, hostname: probe.hostname })
  if (labels.length > 0) merged.labels = labels
  for (const flag of DEVICES) {
    if (configured[flag] === true || probe[flag] === true) merged[flag] = true
    else delete merged[flag]
  }
  overlay(merged, {
    device_class: configured.device_class ?? probe.device_class,
    min_vram_mb: configured.min_vram_mb ?? probe.min_vram_mb,
    min_cpu_cores: configured.min_cpu_cores ?? probe.min_cpu_cores
  })
  return merged
}

/** Copies all values except undefined ones. */
function overlay(target: Record<string, unknown>, values: Perhaps<CapabilityHints>): void {
  for (const [key, value] of Object.entries(values)) if (value !== undefined) target[key] = value
}

type Perhaps<A> = { readonly [Key in keyof A]: A[Key] | undefined }
