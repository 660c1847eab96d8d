import type { CapabilityHints } from '@svc/contracts'
import { DEVICES } from './fitness.ts'

/**
 * Capabilities of a new agent, by the protocol's five rules, in order:
 *
 * 1. what is configured;
 * 2. cores, architecture and name of the host come from the probe, if known;
 * 3. labels: those configured, then those of the probe that are not among them;
 * 4. a flag is true if either has it true; the class of the device is the probe's where none is configured;
 * 5. memory and least cores are the probe's where none are configured.
 *
 * Flags that are false are left out.
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

/** Sets what is known. */
function overlay(target: Record<string, unknown>, values: Perhaps<CapabilityHints>): void {
  for (const [key, value] of Object.entries(values)) if (value !== undefined) target[key] = value
}

type Perhaps<A> = { readonly [Key in keyof A]: A[Key] | undefined }
