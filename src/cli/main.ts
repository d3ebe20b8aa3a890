#!/usr/bin/env node
import { runCli } from './program.ts';

// Not awaited: Node would end with a warning of its own if a module waits for ever.
void runCli(process.argv);
