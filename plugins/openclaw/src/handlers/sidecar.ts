import type { Handler } from '@svc/plugin-sdk'
import { type DoctorParts, diagnose } from '../doctor.ts'
import type { skillsDoctor, skillsHealth } from '../operations/diagnosis.ts'
import type { sidecarStart, sidecarStatus, sidecarStop } from '../operations/sidecar.ts'
import type { Sidecar } from '../sidecar/sidecar.ts'

export function healthHandler(parts: DoctorParts): Handler<typeof skillsHealth> {
  return (_, { signal }) => diagnose(parts, false, signal)
}

export function doctorHandler(parts: DoctorParts, changed: () => void): Handler<typeof skillsDoctor> {
  return async ({ auto_start }, { signal }) => {
    const diagnosis = await diagnose(parts, auto_start, signal)
    if (diagnosis.sidecar_started) changed()
    return diagnosis
  }
}

export function statusHandler(sidecar: Sidecar): Handler<typeof sidecarStatus> {
  return () => sidecar.status()
}

export function startHandler(sidecar: Sidecar, changed: () => void): Handler<typeof sidecarStart> {
  return async (_, { signal }) => {
    try {
      const { reachable, ...start } = await sidecar.start(signal)
      return { healthy: reachable, ...start }
    } finally {
      changed()
    }
  }
}

export function stopHandler(sidecar: Sidecar, changed: () => void): Handler<typeof sidecarStop> {
  return async (_, { signal }) => {
    const stop = await sidecar.stop(signal)
    changed()
    return stop
  }
}
