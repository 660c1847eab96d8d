import { errorTable } from '@svc/plugin-sdk'

/** Codes of what plugin code may not start. */
export const guardErrors = errorTable({
  LDR_CLOSED: { message: 'Code of a disposed plugin tried to start something.' },
  LDR_REFUSED: { message: 'A plugin tried something that only the host may do.' }
})
