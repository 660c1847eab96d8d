import type { GenerationView } from '@svc/contracts'
import { JSON_TYPE } from '../error-reply.ts'
import type { BuiltIn } from './built-in.ts'

/** Returns /health, which reports that the process serves; /ready reports whether its components work. */
export function healthRoute(version: string, generation: GenerationView): BuiltIn {
  return {
    path: '/health',
    open: true,
    mainOnly: false,
    answer: () => ({
      type: JSON_TYPE,
      body: JSON.stringify({
        status: 'ok',
        version,
        uptime_s: Math.round(process.uptime()),
        generation: generation.id
      })
    })
  }
}
