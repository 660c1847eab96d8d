#!/usr/bin/env node
require('@svc/kernel/bin/svc.cjs')
