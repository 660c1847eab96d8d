import { errorTable } from '@svc/plugin-sdk'

/** Codes of refused actions of plugin code. */
export const guardErrors = errorTable({
  LDR_CLOSED: { message: 'Code of a disposed plugin tried to start something.' },
  LDR_REFUSED: { message: 'A plugin tried something that only the host may do.' }
})
