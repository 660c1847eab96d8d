import { errorTable } from '@svc/plugin-sdk'

export const rewardErrors = errorTable({
  RWD_OFF: { message: 'The reward component is switched off.', status: 409 },
  RWD_EVENT_INVALID: { message: 'A reward event has no type, or is too large.', status: 400 },
  RWD_NOTIFICATION_UNKNOWN: { message: 'The user has no notification with this id.', status: 404 },
  RWD_ITEM_UNKNOWN: { message: 'The shop has no item with this name.', status: 404 },
  RWD_CRYSTALS_MISSING: { message: 'The user has fewer crystals than the item costs.', status: 409 },
  RWD_COLLEGIUM_JOINED: { message: 'The user is already a member of a collegium.', status: 409 },
  RWD_BATTLE_FILE: {
    message: 'The file of a submitted program cannot be read, is empty, or is too long.',
    status: 400
  },
  RWD_BATTLE_UNKNOWN: { message: 'The user has no open battle with this id.', status: 404 },
  RWD_BATTLE_ENERGY: { message: 'The user has too little energy for a battle.', status: 409 },
  RWD_BATTLE_NO_COMPILER: { message: 'Battles need the compiler, which judges the submitted program.', status: 503 },
  RWD_PRESTIGE_LEVEL: { message: 'A prestige needs level 200.', status: 409 },
  RWD_EVENT_TYPE_UNKNOWN: { message: 'The type of event has no stored values.', status: 404 },
  RWD_VALUES_FULL: { message: 'Too many types of events have stored values.', status: 409 },
  RWD_HINT_BUSY: { message: 'A model already writes the text of a hint.', status: 429 },
  RWD_WEEK_INVALID: { message: 'The week is not an ISO week such as 2026-W48.', status: 400 }
})
